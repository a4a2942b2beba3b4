//! The engine as the Python module `headend._engine`: conversions only, no logic.
