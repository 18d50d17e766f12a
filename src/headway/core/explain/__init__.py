"""Why a decision was made, and what would happen next."""
