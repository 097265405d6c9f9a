import type { ToolResult } from '../../contracts/index.ts'
import {
  defineModule,
  type OpContext,
  registerOp,
  type Secrets,
  toolFailure,
  type WebService,
} from '../../core/catalogue/index.ts'
import { createSecretTexts } from '../../core/secrets/index.ts'
import { neededSecret, secretDependency } from '../shared/secret-dependency.ts'
import { secretsIn } from '../shared/template.ts'
import { refusing } from '../shared/walls/refusal.ts'
import { refusalOf, resultOf } from './answer.ts'
import { buildRequest } from './build-request.ts'
import { afterwards, follow, passingFailure, tooLong, unanswered, unreadable } from './follow.ts'
import { HttpSettings, isReading } from './settings.ts'
import { placesIn, requestFaults } from './url-template.ts'

/** Requests over HTTP, for tools that are written down and not programmed. */
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

/** By what the methods mean (RFC 9110 §9.2). Of a POST only its author knows. */
function factsOf(settings: HttpSettings) {
  const { method } = settings
  if (isReading(settings)) return { mutates: false }
  if (method === 'POST') return {}
  return method === 'PATCH' ? { mutates: true } : { mutates: true, idempotent: true }
}

interface RequestDeps {
  readonly web: WebService
  readonly secrets: Secrets
}

async function request(
  values: Record<string, unknown>,
  { settings, signal, idempotencyKey }: OpContext<HttpSettings>,
  { web, secrets }: RequestDeps,
): Promise<ToolResult> {
  const known = new Map(secretsIn(placesIn(settings)).map(name => [name, neededSecret(secrets, name)]))
  const { redact, longest } = createSecretTexts([...known.values()])
  return refusing(async () => {
    const built = buildRequest(settings, { values, idempotencyKey, secret: name => known.get(name) ?? '' })
    const { outcome, url, before } = await follow(built, { web, settings, signal })
    const around = { url, before, isReading: isReading(settings) }
    if (outcome.kind === 'refused' || outcome.kind === 'failed') return unanswered(outcome, around)
    const { answer, kind } = outcome
    // The status decides first: an error page that is too long says no all the same.
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
