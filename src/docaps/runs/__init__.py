"""What a run directory holds, and every file read from or written to one."""
