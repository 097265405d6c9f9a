import type { ForeignText } from '../../core/catalogue/index.ts'
import { fill, type Template, type TemplatePart, type Values, valueOf } from '../shared/template.ts'
import type { ProgramSettings } from './settings.ts'

type NotPaths = Pick<ProgramSettings, 'notPaths'>

/**
 * What of an argument a caller chose, as far as it may have a path in it: the whole, what is left of it from each value on,
 * and the values themselves. Programs find a path in the middle of an argument, too: `file=@{path}`.
 */
export function foreignTexts(template: Template, values: Values, { notPaths }: NotPaths): ForeignText[] {
  return chosenIn(template, values, notPaths).map(one => ({ from: 'argument', ...one }))
}

/** The same of what a program reads, line by line: lists of files are often read from there. */
export function foreignLines(template: Template, values: Values, { notPaths }: NotPaths): ForeignText[] {
  return linesOf(template).flatMap(line =>
    chosenIn(line, values, notPaths).map((one): ForeignText => ({ from: 'input', ...one })),
  )
}

type Chosen = Pick<ForeignText, 'parameter' | 'text'> & { readonly from?: 'inside' }

function chosenIn({ parts, faults }: Template, values: Values, notPaths: readonly string[]): Chosen[] {
  const chosen = parts.flatMap((part, at) => {
    if (part.kind !== 'parameter' || notPaths.includes(part.name)) return []
    const value = valueOf(values, part.name)
    return typeof value === 'string' || typeof value === 'object' ? [{ at, parameter: part.name, value }] : []
  })
  const [first] = chosen
  if (!first) return []
  const filled = [{ ...first, at: 0 }, ...chosen].map(({ at, parameter }) => ({
    parameter,
    text: fill({ parts: parts.slice(at), faults }, { values }),
  }))
  const own = chosen.flatMap(({ parameter, value }) => stringsIn(value).map(one => ({ parameter, ...one })))
  return [...new Map([...own, ...filled].map(one => [one.text, one])).values()]
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

/** The texts of a value. Those that a list has are values themselves; in an object they are what its fields make of them. */
function stringsIn(value: unknown): Pick<Chosen, 'text' | 'from'>[] {
  if (typeof value === 'string') return [{ text: value }]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(stringsIn)
  return Object.entries(value).flatMap(([key, item]) =>
    [{ text: key }, ...stringsIn(item)].map(({ text }) => ({ text, from: 'inside' as const })),
  )
}
