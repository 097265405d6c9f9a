/** A number for each request, and none twice. */
export type NextRequestId = () => number

export function createRequestIds(): NextRequestId {
  let last = 0
  return () => ++last
}

/**
 * Of all connections of this process together. Some servers keep what they are asked by its id alone, of all sessions: with the same
 * ids on several connections one agent would get there what was meant for another.
 */
export const nextRequestId: NextRequestId = createRequestIds()
