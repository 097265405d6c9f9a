import { basename } from 'node:path'
import type { ContentBlock, ToolResult } from '../../contracts/index.ts'
import { type ProgramOutcome, toolFailure, toolResult } from '../../core/catalogue/index.ts'
import type { Redact } from '../../core/secrets/index.ts'
import { binaryBlock, endOf, hasSecret, jsonResult, readJson } from '../shared/result-content.ts'
import { decodeText, HEAD_BYTES, judgeContent, sizeText } from '../shared/text.ts'
import { PROGRAM_OP_LIMITS, type ProgramSettings } from './settings.ts'

type Ended = Extract<ProgramOutcome, { kind: 'ended' }>

interface OutcomeOptions {
  readonly settings: ProgramSettings
  readonly redact: Redact
  /** What is masked, for what is no text. */
  readonly secrets: readonly string[]
}

/** What a program printed and how it ended, as a result. */
export function resultOf(ended: Ended, options: OutcomeOptions): ToolResult {
  const { program, okCodes, maxBytes } = options.settings
  if (ended.isCut)
    return toolFailure(`"${program}" printed more than ${sizeText(maxBytes)} and was ended. Ask for less of it.`)
  if (ended.code === null || !okCodes.includes(ended.code)) return complaint(ended, options)
  return printed(ended.stdout, options)
}

function printed(bytes: Uint8Array, options: OutcomeOptions): ToolResult {
  const { output, program } = options.settings
  const read = readingOf(bytes)
  if (read.kind === 'binary') return binaryResult(bytes, read.mimeType, options)
  if (output === 'json') return printedJson(read.text, program, options.redact)
  const text = options.redact(read.text)
  const content: ContentBlock[] = [{ type: 'text', text }]
  if (!read.isWhole)
    content.push({ type: 'text', text: `Some of what "${program}" printed is no UTF-8; "\uFFFD" stands there.` })
  if (output === 'text') return toolResult({ content })
  const lines = text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/)
  return toolResult({ content, structuredContent: { lines } })
}

type Reading =
  /** Not whole: some of it is no character. */
  | { readonly kind: 'text'; readonly text: string; readonly isWhole: boolean }
  | { readonly kind: 'binary'; readonly mimeType: string }

function readingOf(bytes: Uint8Array): Reading {
  try {
    return { kind: 'text', text: decodeText(bytes, 'utf-8'), isWhole: true }
  } catch {
    const head = bytes.subarray(0, HEAD_BYTES)
    const content = judgeContent(head, '')
    const isUtf16 = content.kind === 'text' && content.encoding !== 'utf-8'
    if (content.kind !== 'text' && (content.mimeType !== UNKNOWN || head.includes(0)))
      return { kind: 'binary', mimeType: content.mimeType }
    return { kind: 'text', text: new TextDecoder(isUtf16 ? content.encoding : 'utf-8').decode(bytes), isWhole: isUtf16 }
  }
}

const UNKNOWN = 'application/octet-stream'

/** What is no text cannot be masked, so that it is not handed on when a secret is in it. */
function binaryResult(bytes: Uint8Array, mimeType: string, { settings, secrets }: OutcomeOptions): ToolResult {
  const { program, output } = settings
  if (output !== 'text') return toolFailure(`"${program}" did not print text, although its declaration says so.`)
  if (hasSecret(bytes, secrets))
    return toolFailure(`What "${program}" printed has a secret of this tool in it and is not handed on.`)
  return toolResult({ content: [binaryBlock(bytes, mimeType, `program:${encodeURIComponent(basename(program))}`)] })
}

function printedJson(written: string, program: string, redact: Redact): ToolResult {
  try {
    const { json, text } = readJson(written, redact)
    return jsonResult(json, text)
  } catch {
    // What it printed instead may be long and is for its author: the sentence says what is wrong.
    return toolFailure(`"${program}" did not print JSON, although its declaration says so.`)
  }
}

/** The end of what it complained about: there most programs say what was wrong. */
function complaint({ code, stderr, stdout }: Ended, { settings: { program }, redact }: OutcomeOptions): ToolResult {
  const said = redact(textOf(stderr)).trim() || redact(textOf(stdout)).trim()
  const shown = endOf(said, PROGRAM_OP_LIMITS.complaintCharacters)
  const head = code === null ? `"${program}" was killed` : `"${program}" ended with code ${code}`
  return toolFailure(shown === '' ? `${head}.` : `${head}:\n${shown}`)
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}
