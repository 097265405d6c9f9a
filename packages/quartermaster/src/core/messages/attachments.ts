import { AppError } from '../../contracts/index.ts'
import type { AttachmentUses } from '../attachments/index.ts'

/** Files that messages carry, as whoever keeps them sees to it. */
export type Attachments = Pick<AttachmentUses, 'usesOf'>

/** Keeps nothing, so that messages carry no files. */
export const NO_ATTACHMENTS: Attachments = {
  async usesOf(ids) {
    if (ids.length === 0) return { facts: [], writes: [] }
    throw new AppError('NAME_UNKNOWN', 'There is no such attachment. Nothing was sent.')
  },
}
