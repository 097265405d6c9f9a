import type { z } from 'zod'
import type { ApiDownload, ApiEvents, ApiUpload } from './api-route.ts'
import { ATTACHMENT_ROUTES } from './attachment-routes.ts'
import { CHAT_ROUTES } from './chat-routes.ts'
import { DELEGATION_ROUTES } from './delegation-routes.ts'
import { EXTERNAL_PEER_ROUTES } from './external-peer-routes.ts'
import { MEMORY_ROUTES } from './memory-routes.ts'
import { MESSAGE_ROUTES } from './message-routes.ts'
import { ORGANISATION_ROUTES } from './organisation-routes.ts'
import { PROMPT_ROUTES } from './prompt-routes.ts'

export type { ApiDownload, ApiEvent, ApiEvents, ApiRoute, ApiUpload, ApiVisitorKind } from './api-route.ts'

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
