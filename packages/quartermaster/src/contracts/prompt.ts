import { z } from 'zod'
import { Name } from './names.ts'
import { ContentBlock } from './result.ts'
import { McpExtras, ToolFacts } from './tool.ts'

/** One word that a prompt is filled in with. */
export const PromptArgument = z.strictObject({
  name: Name,
  title: z.string().min(1).max(100).optional(),
  short: z.string().min(1).max(1024).optional(),
  required: z.boolean(),
})
export type PromptArgument = z.infer<typeof PromptArgument>

/** Everything about a prompt but its code. Checked when definitions load. */
export const PromptFacts = z.strictObject({
  name: Name,
  title: z.string().min(1).max(100),
  /** One sentence: the MCP description, word for word. */
  short: z.string().min(1).max(1024),
  icon: ToolFacts.shape.icon,
  requires: z.array(Name),
  arguments: z.array(PromptArgument).max(50),
  mcp: McpExtras.optional(),
})
export type PromptFacts = z.infer<typeof PromptFacts>

const words = (most: number) => z.string().min(1).max(most)

/** The same for prompts that someone else wrote: their arguments are called as they are. */
export const UpstreamPromptFacts = PromptFacts.extend({
  title: words(200),
  short: words(16 * 1024),
  arguments: z
    .array(
      PromptArgument.extend({ name: words(256), title: words(200).optional(), short: words(16 * 1024).optional() }),
    )
    .max(200),
})

/** One message of a conversation that a prompt begins. */
export const PromptMessage = z.looseObject({ role: z.enum(['user', 'assistant']), content: ContentBlock })
export type PromptMessage = z.infer<typeof PromptMessage>

/** A prompt, filled in. */
export const PromptResult = z.looseObject({
  description: z.string().optional(),
  messages: z.array(PromptMessage),
  _meta: z.record(z.string(), z.unknown()).optional(),
})
export type PromptResult = z.infer<typeof PromptResult>

/** A prompt as discovery shows it; it needs nothing running. */
export const PromptDescriptor = z.object({
  name: Name,
  title: z.string(),
  short: z.string(),
  arguments: z.array(
    z.object({
      name: z.string(),
      title: z.string().optional(),
      short: z.string().optional(),
      required: z.boolean(),
    }),
  ),
})
export type PromptDescriptor = z.infer<typeof PromptDescriptor>

/** What may stand for an argument, the best first; at most a hundred of all there are. The rest is known where it was said. */
export const Suggestions = z.object({
  values: z.array(z.string()),
  total: z.number().int().nonnegative().optional(),
  hasMore: z.boolean().optional(),
})
export type Suggestions = z.infer<typeof Suggestions>
