// Loaded before a server that writes the time into what it answers, so that two of them answer the same.
globalThis.Date = class extends Date {
  toLocaleTimeString() {
    return '12:00:00 PM'
  }
}
