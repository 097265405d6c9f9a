import type { AgentPrompt } from '../../../contracts/index.ts'
import { CompletingArgument } from '../completion/kinds.ts'
import { EXIT, UsageError } from '../errors.ts'
import { escapeLine } from '../escape.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'

interface PromptCommandOptions {
  shell?: boolean
  withoutDisabled?: boolean
}

export const registerPrompt: Register = (program, act) => {
  const command = program
    .command('prompt')
    .description('Print what an agent has now, as a block for its system prompt, and about how many tokens that is.')
    .addArgument(
      new CompletingArgument('[AGENT]', 'its name; with a token in QUARTERMASTER_TOKEN that of the token', 'agent'),
    )
    .option('--shell', 'for an agent that has only a shell: its tools are commands')
    .option('--without-disabled', 'leave out what does not work now (default: it is marked, with the reason)')
    .action((agent: string | undefined, options: PromptCommandOptions) =>
      act(session => prompt(session, agent, options)),
    )
  addExamples(command, [
    ['quartermaster prompt researcher > researcher.md', 'a file to put into its system prompt'],
    ['quartermaster prompt researcher --shell', 'the same tools as commands'],
  ])
}

async function prompt(session: Session, agent: string | undefined, options: PromptCommandOptions): Promise<number> {
  if (agent === undefined && !session.hasToken)
    throw new UsageError(
      "missing required argument 'AGENT': only with a token in QUARTERMASTER_TOKEN it is clear whose",
    )
  session.hints = { agent }
  const made = await session.connectAsAgent(control =>
    session.attend('Looking', on => control.prompt({ agent, ...options }, on)),
  )
  if (session.json) await session.printJson(made)
  else {
    await session.out.write(made.text)
    const lines = [sizeText(made), ...(made.unseen ?? []).map(unseenLine), ...withheldLines(made)]
    await session.notices.write(lines.map(line => `${escapeLine(line)}\n`).join(''))
  }
  return EXIT.done
}

function unseenLine({ capability, reason }: NonNullable<AgentPrompt['unseen']>[number]): string {
  return `"${capability}" is not in it: ${reason}`
}

/** A server may have changed a thousand tools at once. */
const MOST_WITHHELD = 10

function withheldLines({ withheld = [] }: AgentPrompt): string[] {
  const lines = withheld.slice(0, MOST_WITHHELD).map(({ tool, reason }) => `"${tool}" is not in it: ${reason}`)
  const more = withheld.length - lines.length
  return more > 0 ? [...lines, `Nor are ${more} more; all of them: the same with --json`] : lines
}

/** Beside the text and not in it: whoever puts it into a file wants the block alone. */
function sizeText({ tools, estimatedTokens }: AgentPrompt): string {
  const count = `${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}`
  return `${count}, about ${estimatedTokens.toLocaleString('en')} tokens (estimated; models count differently).`
}
