/**
 * Calls when all that came with the head of a request is read. The next tick would be too early: Node has it between the last
 * byte of a body and the end of its request.
 */
export function afterArrival(work: () => void): void {
  setImmediate(work)
}
