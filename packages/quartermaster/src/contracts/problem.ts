import { z } from 'zod'

/** Something wrong with a definition, an agent or the configuration, told so that someone can fix it. */
export const Problem = z.object({
  severity: z.enum(['error', 'warning']),
  code: z.enum(['DEFINITION_INVALID', 'CONFIG_INVALID', 'AGENT_INVALID']),
  /** The file or source it stands in. */
  where: z.string(),
  /** What it is about: `tool:weather`, `agent:default`. */
  subject: z.string().optional(),
  /** The field, dotted: `input.properties.city`. */
  field: z.string().optional(),
  message: z.string(),
  /** What to do about it. */
  fix: z.string().optional(),
})
export type Problem = z.infer<typeof Problem>
