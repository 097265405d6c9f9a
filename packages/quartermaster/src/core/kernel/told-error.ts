import { z } from 'zod'
import { AppError, ErrorBody } from '../../contracts/index.ts'

/** A problem document (RFC 9457), as we send one. */
const Refusal = ErrorBody.omit({ message: true }).extend({ detail: z.string() })

/** An answer of JSON-RPC, whose `data` is ours. */
const RpcRefusal = z.object({ error: z.object({ data: ErrorBody }) })

/** The error that one of us has sent over HTTP instead of an answer: as a problem document, or as an error of JSON-RPC. */
export function toldError(body: unknown): AppError | undefined {
  const problem = Refusal.safeParse(body)
  if (problem.success) {
    const { detail: message, ...rest } = problem.data
    return AppError.fromJSON({ ...rest, message })
  }
  const answer = RpcRefusal.safeParse(body)
  return answer.success ? AppError.fromJSON(answer.data.error.data) : undefined
}
