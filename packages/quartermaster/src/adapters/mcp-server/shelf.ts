import type { Grant, Seat, View } from '../../core/agents/index.ts'

/** What one server holds: all of a seat's tools, or those that one capability gives it. */
export interface Shelf {
  /** The server's name. */
  readonly name: string
  readonly seat: Seat
  /** Only this capability's tools, when given. */
  readonly capability?: string
}

/** What the server lists now. */
export function listed({ seat, capability }: Shelf): View['tools'] {
  const { tools } = seat.view()
  return capability === undefined ? tools : tools.filter(grant => grant.capability === capability)
}

/** The grant by this name, if it is on the shelf; also one that is not working just now. */
export function find({ seat, capability }: Shelf, name: string): Grant | undefined {
  const grant = seat.grant(name)
  return capability === undefined || grant?.capability === capability ? grant : undefined
}

/** Changes exactly when a client that listed should list again. */
export function versionOf(shelf: Shelf): string {
  if (shelf.capability === undefined) return shelf.seat.view().version
  return listed(shelf)
    .map(({ tool }) => tool.hash)
    .join()
}
