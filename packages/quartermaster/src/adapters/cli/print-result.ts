import type { AgentControl, CallAnswer, KeptResult } from '../../contracts/index.ts'
import { sizeInWords } from './bytes.ts'
import { resultText } from './content.ts'
import { escapeBlock } from './escape.ts'
import type { Printer } from './printer.ts'
import type { Session } from './session.ts'

export interface ResultToPrint {
  answer: CallAnswer
  agent: string
  /** Whether a cut result is read to its end on a terminal too. */
  all: boolean
}

/** Prints what a tool said: to standard output, or to standard error when it said no. */
export async function printResult(
  session: Session,
  control: AgentControl,
  { answer, agent, all }: ResultToPrint,
): Promise<void> {
  if (session.json) return await session.printJson(answer)
  const { result, kept } = answer
  const printer = result.isError ? session.notices : session.out
  const writer = createTextWriter(printer, result.isError === true)
  if (kept && (all || !printer.isTerminal)) {
    await readOn(session, control, { agent, kept, write: writer.write })
  } else {
    await writer.write(resultText(result))
  }
  await writer.end()
  if (kept && !all && printer.isTerminal) await session.notices.write(`${cutNotice(kept)}\n`)
}

/**
 * On a terminal, what could steer it is made visible and the last line is ended; anywhere else every text goes out as it is.
 */
function createTextWriter(printer: Printer, isError: boolean) {
  let endsLine = true
  return {
    async write(text: string) {
      if (text === '') return
      endsLine = text.endsWith('\n')
      const shown = printer.isTerminal ? escapeBlock(text) : text
      await printer.write(isError ? printer.paint.red(shown) : shown)
    },
    async end() {
      if (!endsLine && printer.isTerminal) await printer.write('\n')
    },
  }
}

/** Reads a kept result from its beginning, because what was cut may carry a remark for the agent at its end. */
async function readOn(
  session: Session,
  control: AgentControl,
  { agent, kept, write }: { agent: string; kept: KeptResult; write(text: string): Promise<void> },
): Promise<void> {
  const { resultId, keptBytes, totalBytes } = kept
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const from: number = offset
    const page = await session.attend('Reading on', options =>
      control.readResult({ agent, resultId, offset: from }, options),
    )
    await write(page.text)
    // A page that leads nowhere new would be read for ever.
    offset = page.nextOffset !== undefined && page.nextOffset > from ? page.nextOffset : undefined
  }
  if (keptBytes < totalBytes)
    await session.notices.write(
      `Only ${sizeInWords(keptBytes)} of ${sizeInWords(totalBytes)} were kept; the rest is gone.\n`,
    )
}

function cutNotice({ nextOffset, totalBytes }: KeptResult): string {
  return `Cut at ${sizeInWords(nextOffset)} of ${sizeInWords(totalBytes)}. To see the rest, call it again with --all, or into a file or a pager.`
}
