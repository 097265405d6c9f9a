/** Nobody takes tasks with it. */
const NO_INBOX = 'its agent has no "inbox" capability and cannot take tasks'
/** A workspace that is only a place in the tree waits for whoever comes. */
const NOBODY = 'no agent has been there yet'

/** Why a task for this peer may find nobody; nothing where it will find somebody sooner or later. */
export function remarkOn(
  { lastSeenAt }: { readonly lastSeenAt: number | null },
  isWithoutInbox: boolean,
): string | undefined {
  if (isWithoutInbox) return NO_INBOX
  return lastSeenAt === null ? NOBODY : undefined
}
