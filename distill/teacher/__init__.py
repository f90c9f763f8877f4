"""Teachers: the voices a student learns from, each behind one small protocol."""
