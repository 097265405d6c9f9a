import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../../contracts/index.ts'
import { problemsError, toProblem } from './fault.ts'
import { changesBetween } from './json-changes.ts'
import { type JsonDocument, parseDocument, splitByteOrderMark } from './json-document.ts'
import { applyChange } from './json-edit.ts'
import { printLines } from './json-print.ts'
import { SERVERS } from './upstream-entries.ts'

/** Names and values as they are written. */
export type Fields = Readonly<Record<string, unknown>>

/** A configuration that is about to be changed. */
export interface ConfigText {
  /** All of it. */
  readonly fields: Fields
  /** The entries of `mcpServers`. */
  readonly servers: Fields
  /** The text with these entries instead, everything else as it was written. */
  withServers(servers: Fields): string
}

/** Reads a configuration for a change; nothing stands in one that is not there yet. Throws `CONFIG_INVALID`. */
export function configText(current: string | undefined, file: string): ConfigText {
  if (current === undefined) return { fields: {}, servers: {}, withServers: freshText }
  const { mark, text } = splitByteOrderMark(current)
  const fields = readable(text, file).value as Fields
  return { fields, servers: serversOf(fields), withServers: servers => mark + changedText(text, fields, servers) }
}

function freshText(servers: Fields): string {
  const after = plain({ [SERVERS]: servers })
  return verified(`${printLines(after, { unit: '  ', eol: '\n' })}\n`, after)
}

function readable(text: string, file: string): JsonDocument {
  const document = parseDocument(text)
  const { value, faults } = document
  if (faults.length === 0 && typeof value === 'object' && value !== null && !Array.isArray(value)) return document
  const problems = faults.map(fault => toProblem(fault, { file, text, code: 'CONFIG_INVALID' }))
  throw problemsError('CONFIG_INVALID', `${file} cannot be edited until it is one JSON object again:`, problems)
}

function serversOf(fields: Fields): Fields {
  const servers = fields[SERVERS] ?? {}
  if (typeof servers === 'object' && !Array.isArray(servers)) return servers as Fields
  throw new AppError('CONFIG_INVALID', `"${SERVERS}" must be an object of names and servers. Correct it first.`)
}

function changedText(text: string, before: Fields, servers: Fields): string {
  const after = plain({ ...before, [SERVERS]: servers })
  return verified(changesBetween({ written: before, before, after }).reduce(applyChange, text), after)
}

/** What JSON cannot say, `undefined` above all, is not to be written. */
function plain(value: Fields): Fields {
  return JSON.parse(JSON.stringify(value)) as Fields
}

/** Nothing is written before the new text was read back and says what was asked for. */
function verified(text: string, wanted: Fields): string {
  if (isDeepStrictEqual(parseDocument(text).value, wanted)) return text
  throw new AppError(
    'INTERNAL',
    'The configuration is written in a way that this change cannot be put into. Edit it by hand; nothing was written.',
  )
}
