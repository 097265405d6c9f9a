import type { toolResult } from 'quartermaster'
import content from './content.json' with { type: 'json' }

type Block = NonNullable<Parameters<typeof toolResult>[0]['content']>[number]

/** One piece of content of every kind. What a file says is of no type but text. */
export const { image, sound, embedded, mixedText, mixedResource } = content as unknown as Record<
  keyof typeof content,
  Block
>

/** A red pixel as PNG. */
export const PIXEL = content.image.data
