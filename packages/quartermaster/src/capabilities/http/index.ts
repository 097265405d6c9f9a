import type { ToolResult } from '../../contracts/index.ts'
import {
  defineModule,
  type OpContext,
  registerOp,
  type Secrets,
  toolFailure,
  toolResult,
  type WebAnswer,
  type WebService,
} from '../../core/catalogue/index.ts'
import { createSecretRedactor, type Redact } from '../../core/secrets/index.ts'
import { beginningOf, binaryBlock, hasSecret, jsonResult, type ReadJson, readJson } from '../shared/result-content.ts'
import { neededSecret, secretDependency } from '../shared/secret-dependency.ts'
import { secretsIn } from '../shared/template.ts'
import { refusing } from '../shared/walls/refusal.ts'
import { afterwards, follow, passingFailure, tooLong, unanswered, unreadable } from './follow.ts'
import { buildRequest, placesIn, requestFaults } from './request.ts'
import { HTTP_OP_LIMITS, HttpSettings, isReading } from './settings.ts'

/** Requests over HTTP, for declared tools. */
export default defineModule({
  needs: ['web', 'secrets'],
  create: ({ web, secrets }) =>
    registerOp('op.http.request', {
      short: 'Sends a request over HTTP and hands on what the server answers.',
      settings: HttpSettings,
      check: requestFaults,
      dependencies: ({ settings }) => secretsIn(placesIn(settings)).map(name => secretDependency(name, secrets)),
      facts: ({ settings }) => factsOf(settings),
      handler: (input, context) => request(input as Record<string, unknown>, context, { web, secrets }),
    }),
})

/** Safety facts by method (RFC 9110 §9.2). Only the author knows those of a POST. */
function factsOf(settings: HttpSettings) {
  const { method } = settings
  if (isReading(settings)) return { mutates: false }
  if (method === 'POST') return {}
  return method === 'PATCH' ? { mutates: true } : { mutates: true, idempotent: true }
}

async function request(
  values: Record<string, unknown>,
  { settings, signal, idempotencyKey }: OpContext<HttpSettings>,
  { web, secrets }: { readonly web: WebService; readonly secrets: Secrets },
): Promise<ToolResult> {
  const known = new Map(secretsIn(placesIn(settings)).map(name => [name, neededSecret(secrets, name)]))
  const { redact, longest } = createSecretRedactor([...known.values()])
  return refusing(async () => {
    const built = buildRequest(settings, { values, idempotencyKey, secret: name => known.get(name) ?? '' })
    const { outcome, url, before } = await follow(built, { web, settings, signal })
    const around = { url, before, isReading: isReading(settings) }
    if (outcome.kind === 'refused' || outcome.kind === 'failed') return unanswered(outcome, around)
    const { answer, kind } = outcome
    // The status decides first: an error page that is too long is an error all the same.
    const doubtful = kind === 'tooLong' ? longest : 0
    const said = () => refusalOf(answer, { url, redact, doubtful })
    const passing = passingFailure(answer, { ...around, said })
    if (passing) throw passing
    if (answer.status >= 300) return toolFailure(afterwards(said(), before))
    if (kind === 'tooLong') return tooLong(answer.status, { ...around, maxBytes: settings.maxBytes })
    if (kind === 'unreadable') return unreadable(outcome, around)
    return resultOf(answer, { url, response: settings.response, redact, secrets: [...known.values()] })
  })
}

interface AnswerOptions {
  readonly url: URL
  readonly response: HttpSettings['response']
  readonly redact: Redact
  /** The secrets themselves, to find them in bytes. */
  readonly secrets: readonly string[]
}

/** A successful answer as a result. */
function resultOf(answer: WebAnswer, options: AnswerOptions): ToolResult {
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
    // JSON leaves out a place that is not there.
    return jsonResult(
      Object.fromEntries(Object.entries(response).map(([name, pointer]) => [name, pick(json, pointer)])),
    )
  }
  const value = pick(json, response)
  return value === undefined
    ? toolFailure(`The answer of ${url.host} has nothing at "${response}".`)
    : jsonResult(value)
}

/** Bytes cannot be masked, so they are not passed on with a secret in them. */
function binaryResult(body: Uint8Array, mimeType: string, { url, response, secrets }: AnswerOptions): ToolResult {
  if (hasSecret(body, secrets))
    return toolFailure(`The answer of ${url.host} has a secret of this tool in it and is not handed on.`)
  if (response !== undefined)
    return toolFailure(`${url.host} answered with ${mimeType} and not with JSON, so that nothing can be taken from it.`)
  // Without the query, which may hold a secret.
  return toolResult({ content: [binaryBlock(body, mimeType, `${url.origin}${url.pathname}`)] })
}

interface RefusalOptions extends Pick<AnswerOptions, 'url' | 'redact'> {
  /** How many characters at the end may be a part of a secret. */
  readonly doubtful: number
}

/** The message of an error answer: the server's words, cut and without secrets. */
function refusalOf(answer: WebAnswer, { url, redact, doubtful }: RefusalOptions): string {
  const { type, charset } = typeOf(answer)
  const words = isText(type) ? wordsOf(decode(answer.body, charset), isJson(type), redact) : ''
  const said = doubtful === 0 ? words : words.slice(0, -doubtful)
  const shown = beginningOf(said, HTTP_OP_LIMITS.refusalCharacters)
  const head = `${url.host} answered with status ${answer.status}`
  return shown === '' ? `${head}.` : `${head}:\n${shown}`
}

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
    // Unknown charset: most texts are UTF-8.
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

/** The value at a JSON Pointer (RFC 6901); `*` stands for every item of a list, and gives a list. */
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
