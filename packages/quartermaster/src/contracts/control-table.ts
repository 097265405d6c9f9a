import { z } from 'zod'
import { Name } from './names.ts'

/** What is asked, and what is answered. Where a row says `persons`, they may ask as well. */
export type ControlTable = Record<string, { input: z.ZodType; output: z.ZodType; persons?: true }>

export const nothing = z.strictObject({})

/** Which page of a list. */
export const page = { limit: z.number().int().min(1).max(1_000).optional(), cursor: z.string().max(200).optional() }

/** Which organisation; the first one when absent. */
export const organisation = Name.optional()
