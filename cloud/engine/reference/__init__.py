"""The ChatTTS package, one request at a time, in a process of its own."""
