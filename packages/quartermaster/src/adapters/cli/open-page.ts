import type { Answer, UrlQuestion } from '../../contracts/index.ts'
import { escapeLine } from './escape.ts'
import { paragraph } from './layout.ts'
import type { Session } from './session.ts'

/** Shows a page that a call waits for, and asks whether the person has been there. Anything but a yes is a no. */
export async function askToOpen(
  session: Session,
  { tool, signal }: { tool: string; signal: AbortSignal | undefined },
  { message, url }: UrlQuestion,
): Promise<Answer> {
  const { notices, host } = session
  const head = `${escapeLine(tool)} asks you to open a page:\n${paragraph(message, notices, '  ')}`
  await notices.write(`${head}  ${notices.paint.bold(escapeLine(url))}\n`)
  const prompt = 'Go on when you have been there? [y/N] '
  const either = signal ? AbortSignal.any([host.signal, signal]) : host.signal
  const answer = await session.untilAborted(host.io.stdin.question(prompt, { signal: either })).catch(async error => {
    if (host.signal.aborted || !signal?.aborted) throw error
    await notices.write('\nIt is not needed any more.\n')
    return undefined
  })
  if (answer === undefined) return { action: 'cancel' }
  return { action: /^y(es)?$/i.test(answer.trim()) ? 'accept' : 'decline' }
}
