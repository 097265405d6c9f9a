import { z } from 'zod'
import { isTransportHeader } from '../../core/kernel/index.ts'

export const HTTP_OP_LIMITS = {
  /** The default and highest size of an answer. */
  answerBytes: 1024 * 1024,
  mostAnswerBytes: 16 * 1024 * 1024,
  redirects: 5,
  /** The part of an error answer that an agent is shown. */
  refusalCharacters: 2_000,
}

const template = z.string().max(8_000)
const fieldName = z.string().min(1).max(200)
const headerName = z
  .string()
  .max(200)
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'must be the name of a header')
  .refine(name => !isTransportHeader(name), 'is a header that is set automatically')

const Host = z
  .string()
  .max(255)
  .regex(
    /^(?:(?:\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i,
    'must be a host, such as "api.example.com", "*.example.com" or "localhost:8080"',
  )
const PrivateHost = Host.refine(host => !host.startsWith('*'), 'must name each host by itself')

/** A pointer into JSON (RFC 6901); a `*` stands for every item of a list. */
const Pointer = z
  .string()
  .max(1_000)
  .regex(/^(?:\/(?:[^~]|~[01])*)?$/, 'must be a JSON Pointer, such as "/main/temp"')

const scalar = z.union([template, z.number(), z.boolean()])

const Body = z.union(
  [
    z.strictObject({ json: z.json().describe('Sent as JSON; a text that is only `{name}` becomes the value itself.') }),
    z.strictObject({ form: z.record(fieldName, scalar).describe('Sent as a form.') }),
    z.strictObject({
      text: template,
      type: z
        .string()
        .max(200)
        .regex(/^[\w.+-]+\/[\w.+-]+(?:;[\x20-\x7e]*)?$/, 'must be a content type')
        .default('text/plain; charset=utf-8'),
    }),
  ],
  { error: 'must be one of { json: … }, { form: … } and { text: … }' },
)

/** The settings of `op.http.request`, under `with` of a declaration. */
export const HttpSettings = z.strictObject({
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
  url: template.min(1).describe('With `{name}` where the value of a parameter belongs, encoded for its place.'),
  query: z.record(fieldName, scalar).default({}).describe('Behind the `?`. What has no value is left out.'),
  headers: z.record(headerName, template).default({}).describe('What has no value is left out.'),
  body: Body.optional(),
  response: z
    .union([Pointer, z.record(fieldName, Pointer)], { error: 'must be a JSON Pointer, or names with one each' })
    .optional()
    .describe('What of a JSON answer is handed on: one place in it, or fields with a place each.'),
  hosts: z.array(Host).max(50).default([]).describe('Hosts it may go to beside the one of `url`, also by a redirect.'),
  privateHosts: z
    .array(PrivateHost)
    .max(50)
    .default([])
    .describe('Hosts that may be on this machine or in this network.'),
  idempotencyHeader: headerName.optional().describe('The header by which the server knows a repeat.'),
  maxBytes: z
    .number()
    .int()
    .min(1)
    .max(HTTP_OP_LIMITS.mostAnswerBytes)
    .default(HTTP_OP_LIMITS.answerBytes)
    .describe('How long an answer may be.'),
})
export type HttpSettings = z.infer<typeof HttpSettings>

/** Whether the method is safe (RFC 9110 §9.2.1). */
export function isReading({ method }: Pick<HttpSettings, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD'
}
