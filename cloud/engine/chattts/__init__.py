"""ChatTTS's architecture as an engine that many share: see ``engine.py``."""
