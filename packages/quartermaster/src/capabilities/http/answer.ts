import type { ToolResult } from '../../contracts/index.ts'
import { toolFailure, toolResult, type WebAnswer } from '../../core/catalogue/index.ts'
import type { Redact } from '../../core/secrets/index.ts'
import { beginningOf, binaryBlock, hasSecret, jsonResult, type ReadJson, readJson } from '../shared/result-content.ts'
import { HTTP_OP_LIMITS, type HttpSettings } from './settings.ts'

interface AnswerOptions {
  readonly url: URL
  readonly response: HttpSettings['response']
  /** Takes the place of secrets. */
  readonly redact: Redact
  /** The secrets themselves, for what is no text. */
  readonly secrets: readonly string[]
}

/** An answer that says yes, as a result. */
export function resultOf(answer: WebAnswer, options: AnswerOptions): ToolResult {
  const { type, charset } = typeOf(answer)
  if (answer.body.length === 0) return emptyResult(answer, options)
  if (!isText(type)) return binaryResult(answer.body, type, options)
  const text = decode(answer.body, charset)
  const value = isJson(type) ? parsed(text, options.redact) : undefined
  if (value) return picked(value, options)
  if (options.response === undefined) return toolResult({ content: [{ type: 'text', text: options.redact(text) }] })
  return toolFailure(`${options.url.host} did not answer with JSON, so that nothing can be taken from it.`)
}

function emptyResult({ status }: WebAnswer, { url, response }: AnswerOptions): ToolResult {
  if (response !== undefined) return toolFailure(`${url.host} answered with status ${status} and nothing else.`)
  return toolResult({
    content: [{ type: 'text', text: `${url.host} answered with status ${status}.` }],
    structuredContent: { status },
  })
}

function picked({ json, text }: ReadJson, { response, url }: AnswerOptions): ToolResult {
  if (response === undefined) return jsonResult(json, text)
  if (typeof response !== 'string') {
    // A place that is not there is left out by JSON itself.
    return jsonResult(
      Object.fromEntries(Object.entries(response).map(([name, pointer]) => [name, pick(json, pointer)])),
    )
  }
  const value = pick(json, response)
  return value === undefined
    ? toolFailure(`The answer of ${url.host} has nothing at "${response}".`)
    : jsonResult(value)
}

/** What is no text cannot be masked, so that it is not handed on when a secret is in it. */
function binaryResult(body: Uint8Array, mimeType: string, { url, response, secrets }: AnswerOptions): ToolResult {
  if (hasSecret(body, secrets))
    return toolFailure(`The answer of ${url.host} has a secret of this tool in it and is not handed on.`)
  if (response !== undefined)
    return toolFailure(`${url.host} answered with ${mimeType} and not with JSON, so that nothing can be taken from it.`)
  // Without the query, which may hold a secret.
  return toolResult({ content: [binaryBlock(body, mimeType, `${url.origin}${url.pathname}`)] })
}

interface RefusalOptions extends Pick<AnswerOptions, 'url' | 'redact'> {
  /** How many characters at the end may be part of a secret that was cut through. */
  readonly doubtful: number
}

/** An answer that says no, in words for the agent: they are the server's, bounded and without secrets. */
export function refusalOf(answer: WebAnswer, { url, redact, doubtful }: RefusalOptions): string {
  const { type, charset } = typeOf(answer)
  const words = isText(type) ? wordsOf(decode(answer.body, charset), isJson(type), redact) : ''
  const said = doubtful === 0 ? words : words.slice(0, -doubtful)
  const shown = beginningOf(said, HTTP_OP_LIMITS.refusalCharacters)
  const head = `${url.host} answered with status ${answer.status}`
  return shown === '' ? `${head}.` : `${head}:\n${shown}`
}

/** As the server wrote them, unless there is something in them that a text does not show as it is. */
function wordsOf(text: string, isJson: boolean, redact: Redact): string {
  const value = isJson ? parsed(text, redact) : undefined
  return value?.text.includes('[secret]') ? value.text : redact(text).trim()
}

interface ContentType {
  readonly type: string
  readonly charset: string
}

function typeOf({ headers }: WebAnswer): ContentType {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';').map(part => part.trim())
  const charset = parameters.map(part => /^charset="?([^"]+)"?$/i.exec(part)?.[1]).find(found => found !== undefined)
  return { type: type.toLowerCase() || 'application/octet-stream', charset: charset ?? 'utf-8' }
}

function isJson(type: string): boolean {
  return /^(?:application|text)\/(?:[\w.+-]+\+)?json$/.test(type)
}

function isText(type: string): boolean {
  return /^text\/|[/+](?:json|xml|yaml)$|^application\/(?:x-www-form-urlencoded|javascript|x-ndjson|graphql|x-yaml|toml)$/.test(
    type,
  )
}

function decode(body: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset).decode(body)
  } catch {
    // An unknown charset name says nothing; most texts are UTF-8.
    return new TextDecoder().decode(body)
  }
}

function parsed(text: string, redact: Redact): ReadJson | undefined {
  try {
    return readJson(text, redact)
  } catch {
    // Some servers say JSON and send a page.
    return undefined
  }
}

/** What a pointer finds in a value (RFC 6901); a `*` stands for every item of a list, and gives a list of what is found. */
function pick(value: unknown, pointer: string): unknown {
  return walk(value, pointer.split('/').slice(1).map(decoded))
}

function walk(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return value
  if (Array.isArray(value)) {
    if (step === '*') return value.map(item => walk(item, rest)).filter(item => item !== undefined)
    return /^(?:0|[1-9]\d*)$/.test(step) ? walk(value[Number(step)], rest) : undefined
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
  return walk((value as Record<string, unknown>)[step], rest)
}

function decoded(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}
