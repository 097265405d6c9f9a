import { z } from 'zod'
import type { Binding } from './binding.ts'
import { type Fault, Refusal, rpcError } from './errors.ts'
import { readJson } from './request-body.ts'

const Id = z.union([z.string(), z.number(), z.null()])
const Call = z.object({
  jsonrpc: z.literal('2.0'),
  id: Id.optional(),
  method: z.string(),
  params: z.unknown().optional(),
})

/** Everything at one address, by the name of a method (§9). */
export function jsonRpc(): Binding {
  // Whatever goes wrong is told with the id of the call, as soon as that is known.
  let id: z.infer<typeof Id> = null
  const bodyOf = async (request: Request) => {
    const body = await readJson(request)
    id = idIn(body)
    return body
  }
  return {
    async read(request) {
      const call = Call.safeParse(await bodyOf(request))
      if (!call.success) throw new Refusal('INVALID_REQUEST', 'This is no JSON-RPC 2.0 request with a method.')
      return { name: call.data.method, params: call.data.params ?? {} }
    },
    async learn(request) {
      // Whatever is wrong with it as well, it was refused for another reason.
      if (!request.bodyUsed) await bodyOf(request).catch(() => {})
    },
    toData: result => ({ jsonrpc: '2.0', id, result }),
    toFault: fault => ({ jsonrpc: '2.0', id, error: rpcError(fault) }),
    statusOf,
    contentType: 'application/json',
  }
}

function idIn(body: unknown): z.infer<typeof Id> {
  const known = z.object({ id: Id }).safeParse(body)
  return known.success ? known.data.id : null
}

/** What went wrong with a call is in the answer; only those who are not let in hear it from HTTP. */
function statusOf({ status }: Fault): number {
  return status === 401 || status === 403 || status === 429 || status >= 500 ? status : 200
}
