"""What crosses a machine border: requests, frames, topics, manifests, catalogues.

Nothing else in the project decides how bytes look on a wire. Every reader here takes
any input and answers with a value or a :class:`~common.errors.YaoheError`.
"""
