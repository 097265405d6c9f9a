import type { z } from 'zod'
import { PROMPT_ROUTES } from './agent.ts'
import { ATTACHMENT_ROUTES, type AttachmentFacts } from './attachment.ts'
import { DELEGATION_ROUTES } from './delegation.ts'
import { EXTERNAL_PEER_ROUTES } from './external-peer.ts'
import { MEMORY_ROUTES } from './memory.ts'
import { CHAT_ROUTES, MESSAGE_ROUTES } from './message.ts'
import { ORGANISATION_ROUTES } from './organisation-routes.ts'

export type { ApiCallerKind, ApiRoute } from './api-route.ts'

/** The API below `/api/v1`. The router, the OpenAPI document and the reference page are made from this table. */
export const API = {
  ...ORGANISATION_ROUTES,
  ...EXTERNAL_PEER_ROUTES,
  ...MEMORY_ROUTES,
  ...MESSAGE_ROUTES,
  ...CHAT_ROUTES,
  ...DELEGATION_ROUTES,
  ...ATTACHMENT_ROUTES,
  ...PROMPT_ROUTES,
} as const

export type ApiOperation = keyof typeof API

type BodyOf<R> = R extends { readonly body: infer B extends z.ZodType } ? z.infer<B> : undefined

type UploadOf<R> = R extends { readonly wire: 'upload' } ? ApiUpload : undefined

/** What one operation is asked. */
export interface ApiRequest<K extends ApiOperation> {
  readonly params: z.infer<(typeof API)[K]['params']>
  readonly query: z.infer<(typeof API)[K]['query']>
  readonly body: BodyOf<(typeof API)[K]>
  /** The file that comes with it, where one does. */
  readonly upload: UploadOf<(typeof API)[K]>
}

type AnswerOf<R extends { readonly output: z.ZodType }> = R extends { readonly wire: 'events' }
  ? ApiEvents<z.infer<R['output']>>
  : R extends { readonly wire: 'download' }
    ? ApiDownload
    : z.infer<R['output']>

/** What one operation answers: its output, a stream of such, or a file. */
export type ApiAnswer<K extends ApiOperation> = AnswerOf<(typeof API)[K]>

/** A file that comes with a request, piece by piece. */
export interface ApiUpload {
  readonly name: string
  readonly mediaType: string
  /** What was said about its size before it came. */
  readonly announcedSize: number | undefined
  readonly content: AsyncIterable<Uint8Array>
}

/** A file that goes with an answer, piece by piece. Its content breaks off with an error when it is damaged. */
export interface ApiDownload {
  readonly facts: AttachmentFacts
  readonly content: AsyncIterable<Uint8Array>
}

/** One event of a stream, or only a place where a reader that has had none yet goes on. */
export interface ApiEvent<T = unknown> {
  /** The place behind it: where a reader that was cut off goes on. */
  readonly id: string
  readonly told?: { readonly event: string; readonly data: T }
}

/** A stream that begins when it is asked for its first event, and ends with the signal. */
export type ApiEvents<T = unknown> = (signal: AbortSignal) => AsyncIterable<ApiEvent<T>>
