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

export interface ApiRequest<K extends ApiOperation> {
  readonly params: z.infer<(typeof API)[K]['params']>
  readonly query: z.infer<(typeof API)[K]['query']>
  readonly body: BodyOf<(typeof API)[K]>
  /** The file that comes with it. */
  readonly upload: UploadOf<(typeof API)[K]>
}

type AnswerOf<R extends { readonly output: z.ZodType }> = R extends { readonly wire: 'events' }
  ? ApiEvents<z.infer<R['output']>>
  : R extends { readonly wire: 'download' }
    ? ApiDownload
    : z.infer<R['output']>

/** The answer of an operation: its output, a stream of outputs, or a file. */
export type ApiAnswer<K extends ApiOperation> = AnswerOf<(typeof API)[K]>

/** An uploaded file, in chunks. */
export interface ApiUpload {
  readonly name: string
  readonly mediaType: string
  /** The size that the client announced. */
  readonly announcedSize: number | undefined
  readonly content: AsyncIterable<Uint8Array>
}

/** A downloaded file, in chunks. The stream fails when the content is damaged. */
export interface ApiDownload {
  readonly facts: AttachmentFacts
  readonly content: AsyncIterable<Uint8Array>
}

/** One event of a stream, or only the position where a new reader continues. */
export interface ApiEvent<T = unknown> {
  /** Where a reader continues after a disconnect. */
  readonly id: string
  readonly told?: { readonly event: string; readonly data: T }
}

/** A stream that starts with the first read and ends with the signal. */
export type ApiEvents<T = unknown> = (signal: AbortSignal) => AsyncIterable<ApiEvent<T>>
