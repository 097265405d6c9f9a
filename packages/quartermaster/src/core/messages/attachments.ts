import { AppError, type MessageAttachment } from '../../contracts/index.ts'
import type { Write } from '../store/index.ts'

/** Files that messages carry, as whoever keeps them sees to it. */
export interface Attachments {
  /**
   * What a message with these files needs, for all rows that it will have: what it shows of them, and what belongs into its
   * commit. Throws `NAME_UNKNOWN` when one is not there, or is not the sender's to send.
   */
  usesOf(
    ids: readonly string[],
    from: { readonly organisation: string /** Null for persons and the owner. */; readonly workspaceId: string | null },
    rows: readonly ActivityPlace[],
  ): Promise<{ readonly facts: readonly MessageAttachment[]; readonly writes: readonly Write[] }>
}

/** Which row of which log. */
export interface ActivityPlace {
  readonly id: string
  readonly workspaceId: string
  /** The workspace's name. */
  readonly workspace: string
}

/** Keeps nothing, so that messages carry no files. */
export const NO_ATTACHMENTS: Attachments = {
  async usesOf(ids) {
    if (ids.length === 0) return { facts: [], writes: [] }
    throw new AppError('NAME_UNKNOWN', 'There is no such attachment. Nothing was sent.')
  },
}
