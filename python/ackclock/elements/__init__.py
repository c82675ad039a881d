"""Elements of scenarios: which the engine has, and the facts that each states about itself."""
