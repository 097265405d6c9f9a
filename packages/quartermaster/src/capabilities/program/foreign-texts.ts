import { fill, type Template, type TemplatePart, type Values, valueOf } from '../shared/template.ts'
import type { ProgramSettings } from './settings.ts'

type NotPaths = Pick<ProgramSettings, 'notPaths'>

/**
 * What of an argument a caller chose, as far as it may have a path in it: the whole, what is left of it from each value on,
 * and the values themselves. Programs find a path in the middle of an argument, too: `file=@{path}`.
 */
export function foreignTexts({ parts, faults }: Template, values: Values, { notPaths }: NotPaths): string[] {
  const chosen = parts.flatMap((part, at) => {
    const value = part.kind === 'parameter' && !notPaths.includes(part.name) ? valueOf(values, part.name) : undefined
    return typeof value === 'string' || typeof value === 'object' ? [{ at, value }] : []
  })
  if (chosen.length === 0) return []
  const filled = [0, ...chosen.map(({ at }) => at)].map(at => fill({ parts: parts.slice(at), faults }, { values }))
  return [...new Set([...filled, ...chosen.flatMap(({ value }) => stringsIn(value))])]
}

/** The same of what a program reads, line by line: lists of files are often read from there. */
export function foreignLines(template: Template, values: Values, settings: NotPaths): string[] {
  const texts = linesOf(template).flatMap(line => foreignTexts(line, values, settings))
  return [...new Set(texts.flatMap(text => text.split(LINE_END)))]
}

const LINE_END = /[\r\n\0]+/

/** Lines without a value are the author's own. */
function linesOf({ parts, faults }: Template): Template[] {
  let line: TemplatePart[] = []
  const lines = [line]
  for (const part of parts) {
    if (part.kind !== 'text') line.push(part)
    else
      for (const [i, text] of part.text.split(LINE_END).entries()) {
        if (i > 0) lines.push((line = []))
        line.push({ kind: 'text', text })
      }
  }
  return lines.map(parts => ({ parts, faults }))
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => [...(Array.isArray(value) ? [] : [key]), ...stringsIn(item)])
}
