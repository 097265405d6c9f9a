import type { ContentBlock, ToolResult } from '../../contracts/index.ts'
import { toolFailure, toolResult, type WebAnswer } from '../../core/catalogue/index.ts'
import { type Redact, redactedJson } from '../../core/kernel/index.ts'
import { jsonResult } from '../shared/json-result.ts'
import { pick } from '../shared/pick.ts'
import { HTTP_OP_LIMITS, type HttpSettings } from './settings.ts'

export interface AnswerOptions {
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
  if (value) return picked(value.json, options)
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

function picked(json: unknown, { response, url }: AnswerOptions): ToolResult {
  if (response === undefined) return jsonResult(json)
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
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (secrets.some(secret => bytes.includes(secret)))
    return toolFailure(`The answer of ${url.host} has a secret of this tool in it and is not handed on.`)
  if (response !== undefined)
    return toolFailure(`${url.host} answered with ${mimeType} and not with JSON, so that nothing can be taken from it.`)
  return toolResult({ content: [blockOf(bytes.toString('base64'), mimeType, url)] })
}

function blockOf(data: string, mimeType: string, { origin, pathname }: URL): ContentBlock {
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType }
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType }
  // Without the query, which may hold a secret.
  return { type: 'resource', resource: { uri: `${origin}${pathname}`, mimeType, blob: data } }
}

export interface RefusalOptions extends Pick<AnswerOptions, 'url' | 'redact'> {
  /** How many characters at the end may be part of a secret that was cut through. */
  readonly doubtful: number
}

/** An answer that says no, in words for the agent: they are the server's, bounded and without secrets. */
export function refusalOf(answer: WebAnswer, { url, redact, doubtful }: RefusalOptions): string {
  const { type, charset } = typeOf(answer)
  const words = isText(type) ? wordsOf(decode(answer.body, charset), isJson(type), redact) : ''
  const said = doubtful === 0 ? words : words.slice(0, -doubtful)
  const shown = said.length > HTTP_OP_LIMITS.refusalBytes ? `${said.slice(0, HTTP_OP_LIMITS.refusalBytes)}…` : said
  const head = `${url.host} answered with status ${answer.status}`
  return shown === '' ? `${head}.` : `${head}:\n${shown}`
}

/** As the server wrote them, unless there is something in them that a text does not show as it is. */
function wordsOf(text: string, isJson: boolean, redact: Redact): string {
  const value = isJson ? parsed(text, redact) : undefined
  const json = value && JSON.stringify(value.json)
  return json?.includes('[secret]') ? json : redact(text).trim()
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
    // A name that nobody knows says nothing; most texts are UTF-8.
    return new TextDecoder().decode(body)
  }
}

function parsed(text: string, redact: Redact): { readonly json: unknown } | undefined {
  try {
    return { json: redactedJson(text, redact) }
  } catch {
    // Some servers say JSON and send a page.
    return undefined
  }
}
