import type { ToolResult } from '../../contracts/index.ts'
import {
  defineModule,
  type OpContext,
  registerOp,
  type Secrets,
  toolFailure,
  type WebDesk,
} from '../../core/catalogue/index.ts'
import { createSecretTexts } from '../../core/kernel/index.ts'
import { neededSecret } from '../shared/needed-secret.ts'
import { Refusal } from '../shared/refusal.ts'
import { secretDependency } from '../shared/secret-dependency.ts'
import { refusalOf, resultOf } from './answer.ts'
import { buildRequest } from './build-request.ts'
import { passingFailure, unanswered } from './failure.ts'
import { follow } from './follow.ts'
import { requestFaults, secretsIn } from './places.ts'
import { HttpSettings, isReading } from './settings.ts'

/** Requests over HTTP, for tools that are written down and not programmed. */
export default defineModule({
  needs: ['web', 'secrets'],
  create: ({ web, secrets }) =>
    registerOp('op.http.request', {
      short: 'Sends a request over HTTP and hands on what the server answers.',
      settings: HttpSettings,
      check: requestFaults,
      dependencies: ({ settings }) => secretsIn(settings).map(secretDependency),
      facts: ({ settings }) => factsOf(settings),
      handler: (input, context) => request(input as Record<string, unknown>, context, { web, secrets }),
    }),
})

/** By what the methods mean (RFC 9110 §9.2). Of a POST only its author knows. */
function factsOf(settings: HttpSettings) {
  const { method } = settings
  if (isReading(settings)) return { mutates: false }
  if (method === 'POST') return {}
  return method === 'PATCH' ? { mutates: true } : { mutates: true, idempotent: true }
}

interface RequestDeps {
  readonly web: WebDesk
  readonly secrets: Secrets
}

async function request(
  values: Record<string, unknown>,
  { settings, signal, idempotencyKey }: OpContext<HttpSettings>,
  { web, secrets }: RequestDeps,
): Promise<ToolResult> {
  const known = new Map(secretsIn(settings).map(name => [name, neededSecret(secrets, name)]))
  const { redact } = createSecretTexts([...known.values()])
  try {
    const built = buildRequest(settings, { values, idempotencyKey, secret: name => known.get(name) ?? '' })
    const { outcome, url } = await follow(built, { web, settings, signal })
    const reading = isReading(settings)
    if (outcome.kind !== 'answer') return unanswered(outcome, { url, isReading: reading, maxBytes: settings.maxBytes })
    const { answer } = outcome
    const passing = passingFailure(answer, { url, isReading: reading })
    if (passing) throw passing
    if (answer.status >= 300) return refusalOf(answer, { url, redact })
    return resultOf(answer, { url, response: settings.response, redact, secrets: [...known.values()] })
  } catch (error) {
    if (error instanceof Refusal) return toolFailure(error.message)
    throw error
  }
}
