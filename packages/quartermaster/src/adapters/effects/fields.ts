import { z } from 'zod'
import type { TemplateRule } from '../../core/operations/index.ts'
import type { Walls } from './walls.ts'

/** No witness is longer, once its gaps are filled. */
export const LONGEST_TEXT = 64 * 1024

/** What every effect on a file says. */
export const filePlace = {
  path: z.string().min(1),
  within: z.string().min(1).optional(),
}

/** The folder is the owner's to choose: an input that could name it could look anywhere. */
export const FILE_TEMPLATES: { path: TemplateRule; within: TemplateRule } = {
  path: {},
  within: { roots: ['config'] },
}

/** What is wrong with the filled texts of an effect on a file. */
export function fileObjection(
  walls: Walls,
  { path, within, ...texts }: { path: string; within?: string | undefined; [text: string]: string | undefined },
): string | undefined {
  return textObjection(texts) ?? walls.objectionTo({ path, within })
}

/** What is wrong with filled texts, whatever they are for. */
export function textObjection(texts: Readonly<Record<string, string | undefined>>): string | undefined {
  const found = Object.entries(texts).find(([, text]) => text !== undefined && !isUsable(text))
  if (!found) return undefined
  const [field, text] = found
  return text === '' ? `its "${field}" is empty.` : `its "${field}" is longer than ${LONGEST_TEXT} characters.`
}

function isUsable(text: string): boolean {
  return text.length > 0 && text.length <= LONGEST_TEXT
}
