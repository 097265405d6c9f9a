import type { ForeignServer } from '../../contracts/index.ts'
import { canAsk } from './consent.ts'
import { escapeLine } from './escape.ts'
import type { Session } from './session.ts'

/** Answers for what clients would have asked a person, each asked once. */
export function createAnswers(session: Session): (server: ForeignServer) => Promise<Record<string, string>> {
  const given = new Map<string, string>()
  return async ({ name, file, asks }) => {
    const answers: Record<string, string> = {}
    for (const { id, secret, prompt, isHidden, fallback } of asks) {
      // By what the client calls it, not by its secret: what another server asks for may want the same name here.
      const question = JSON.stringify([file, id])
      const known = given.get(question)
      const answer = known ?? (canAsk(session) ? await ask(session, { name, prompt, isHidden, fallback }) : fallback)
      if (answer === undefined || answer === '') continue
      given.set(question, answer)
      answers[secret] = answer
    }
    return answers
  }
}

interface Asked {
  readonly name: string
  readonly prompt: string
  readonly isHidden: boolean
  readonly fallback: string | undefined
}

async function ask(
  { host, untilAborted }: Session,
  { name, prompt, isHidden, fallback }: Asked,
): Promise<string | undefined> {
  const usual = fallback === undefined ? '' : ` [${fallback}]`
  const text = escapeLine(`${name} asks: ${prompt}${usual}`)
  const answer = await untilAborted(host.io.stdin.question(`${text}: `, { signal: host.signal, isHidden }))
  return answer.trim() || fallback
}
