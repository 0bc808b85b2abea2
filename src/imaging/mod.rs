//! Pixels only: pure, synchronous code that knows nothing of chats.
