/**
 * Calls when all that came with the head of a request is read. A tick would be too early: Node runs those after the last byte of
 * a body, and calls the request complete after them. Anything later would be too late: a connection that is gone is told of next.
 */
export function afterArrival(work: () => void): void {
  setImmediate(work)
}
