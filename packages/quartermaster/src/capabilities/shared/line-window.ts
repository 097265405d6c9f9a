import { z } from 'zod'

/** How many lines are read at once when nobody says. */
export const DEFAULT_LINES = 2_000
/** About 25,000 tokens, more than clients let a model see of one answer. */
export const MAX_CHARACTERS = 100_000

/** Which lines of a text are asked for. */
export const LINES_ASKED = {
  offset: z.number().int().min(1).optional().describe('The first line to read, counted from 1.'),
  limit: z
    .number()
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe(`The most lines to read; ${DEFAULT_LINES} when left out.`),
}

/** Where whoever wants more goes on. */
export const LINES_LEFT = {
  more: z.boolean().describe('Whether there is more behind what was read.'),
  nextOffset: z.number().int().optional().describe('The offset that goes on from here.'),
  cut: z.boolean().optional().describe('Whether the last line was too long and is cut.'),
}
