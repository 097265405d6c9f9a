import { z } from 'zod'
import { place, RowId, RowTime } from './row-parts.ts'

/** That a data folder's agents have this one among them. Its `workspace` is the agent's name. */
export const SeatRow = z.object({
  ...place,
  /** Which data folder: what another one has seated is not archived by this one. */
  folder: z.string().max(128),
})
export type SeatRow = z.infer<typeof SeatRow>

/** Something that at most one process runs at a time, for as long as it says so. */
export const LeaseRow = z.object({
  // The id says what it is.
  ...place,
  /** The process that has it. */
  holder: RowId,
  /** The name of that one's machine. */
  host: z.string().max(255),
  /** Which data folder that one owns: whoever owns it after it knows that it is gone. */
  folder: z.string().max(128),
  leaseUntil: RowTime,
})
export type LeaseRow = z.infer<typeof LeaseRow>
