import type { ToolResult } from '../../contracts/index.ts'
import { type ProgramOutcome, toolFailure, toolResult } from '../../core/catalogue/index.ts'
import { type Redact, redactedJson } from '../../core/kernel/index.ts'
import { jsonResult } from '../shared/json-result.ts'
import { sizeText } from '../shared/size-text.ts'
import { PROGRAM_OP_LIMITS, type ProgramSettings } from './settings.ts'

type Ended = Extract<ProgramOutcome, { kind: 'ended' }>

/** What a program printed and how it ended, as a result. */
export function resultOf(ended: Ended, settings: ProgramSettings, redact: Redact): ToolResult {
  const { program, okCodes, maxBytes } = settings
  if (ended.isCut)
    return toolFailure(`"${program}" printed more than ${sizeText(maxBytes)} and was ended. Ask for less of it.`)
  if (ended.code === null || !okCodes.includes(ended.code)) return complaint(ended, program, redact)
  return printed(textOf(ended.stdout), settings, redact)
}

function printed(written: string, { output, program }: ProgramSettings, redact: Redact): ToolResult {
  if (output === 'json') return printedJson(written, program, redact)
  const text = redact(written)
  if (output === 'text') return toolResult({ content: [{ type: 'text', text }] })
  const lines = text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/)
  return toolResult({ content: [{ type: 'text', text }], structuredContent: { lines } })
}

function printedJson(written: string, program: string, redact: Redact): ToolResult {
  try {
    return jsonResult(redactedJson(written, redact))
  } catch {
    // What it printed instead may be long and is for its author: the sentence says what is wrong.
    return toolFailure(`"${program}" did not print JSON, although its declaration says so.`)
  }
}

/** The end of what it complained about: there most programs say what was wrong. */
function complaint({ code, stderr, stdout }: Ended, program: string, redact: Redact): ToolResult {
  const said = redact(textOf(stderr)).trim() || redact(textOf(stdout)).trim()
  const most = PROGRAM_OP_LIMITS.complaintBytes
  const shown = said.length > most ? `…${said.slice(-most)}` : said
  const head = code === null ? `"${program}" was killed` : `"${program}" ended with code ${code}`
  return toolFailure(shown === '' ? `${head}.` : `${head}:\n${shown}`)
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}
