import { Option } from 'commander'
import {
  type AgentControl,
  type ControlInput,
  type ControlOutput,
  DocDepth,
  type DocEntry,
  DocKind,
  type DocsAnswer,
} from '../../../../contracts/index.ts'
import { addExamples, command, printAnswer, type Register } from '../../command.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { agentOption, cursorOption, defined, limitOption, nextPage, offsetOption } from '../../options.ts'
import { count, paragraph, renderTable } from '../../output/layout.ts'
import { problemBlocks } from '../../output/problem-text.ts'
import type { Printer } from '../../output/terminal.ts'
import { escapeBlock, escapeLine } from '../../output/terminal.ts'
import type { Session } from '../../session.ts'

type Question = ControlInput<'docs'>

const registerCheck: Register = (docs, act) => {
  const check = docs
    .command('check')
    .description('Look for problems in what is written down. Ends with 1 when there is an error.')
    .option('--strict', 'end with 1 on warnings too')
    .allowExcessArguments()
    .action((options: { strict?: true }, { args }: { args: readonly string[] }) =>
      act(session => checkDocs(session, options, args)),
    )
  addExamples(check, [['quartermaster docs check --strict', 'for a build: no problem is allowed']])
}

export const registerDocs = command<Omit<Question, 'query'> & { words: string[] }>({
  name: 'docs',
  description: 'Read what is written down: the knowledge of the project, and pages of every capability and tool.',
  arguments: [['[QUERY...]', 'what you want to know, in plain words, or the path of what you want to read', 'words']],
  options: [
    new Option('--path <PATH>', 'exactly this: a unit, a tool, tool:NAME or capability:NAME'),
    new Option('--scope <PATH>', 'only what is at or below this'),
    new Option('--kind <KIND>', 'only these').choices(DocKind.options),
    new Option('--depth <DEPTH>', 'how much of each').choices(DocDepth.options),
    agentOption('what this agent reads'),
    limitOption(),
    cursorOption(),
    offsetOption('go on with a text behind so many characters'),
  ],
  examples: [
    ['quartermaster docs', 'all there is to read'],
    ['quartermaster docs how do we release', 'what fits best'],
    ['quartermaster docs read_file', 'the page of one tool'],
    ['quartermaster docs --scope guides --depth summary', 'what a folder of knowledge is about'],
  ],
  subcommands: [registerCheck],
  async run(session, { words, ...options }) {
    const question = { ...options, ...defined({ query: words.join(' ') || undefined }) }
    const { path, query, cursor, agent } = question
    if (path !== undefined && query !== undefined)
      throw new UsageError('Give either words to look for or --path, not both.')
    if (cursor !== undefined && (path ?? query) !== undefined)
      throw new UsageError('--cursor goes on with a list; it cannot stand beside words to look for or --path.')
    session.hints = { agent, listing: ['docs'] }
    const answer = await session.connectAsAgent(control =>
      session.attend('Looking', on => {
        // A program asks for further pages; a person reads to the end.
        if (session.json) return findPage(question, input => control.docs(input, on)).then(({ answer }) => answer)
        return readWhole(question, input => control.docs({ ...input, whole: true }, on))
      }),
    )
    if (answer.entries.length === 0)
      return printAnswer(session, answer, { notice: 'Nothing fits. See all there is: quartermaster docs\n' })
    return printAnswer(session, answer, {
      text: answerText(answer, session.out),
      notice: nextPage(answer.nextCursor),
    })
  },
})

type Ask = (question: Question) => ReturnType<AgentControl['docs']>

/** Words that are the name of a page open the page, as --path does. */
async function findPage(question: Question, ask: Ask): Promise<{ question: Question; answer: DocsAnswer }> {
  const { query, offset, ...rest } = question
  if (query === undefined || question.depth !== undefined) return { question, answer: await ask(question) }
  // The offset belongs to a page and not to a search.
  const words = { ...rest, query }
  const answer = await ask(words)
  const first = answer.entries[0]
  if (first?.score === 1) {
    const page = defined({ ...rest, path: first.path, offset })
    return { question: page, answer: await ask(page) }
  }
  if (offset !== undefined)
    throw new UsageError(
      '--offset goes on with a text, and these words name none. Give it with --path or --depth full.',
    )
  return { question: words, answer }
}

async function readWhole(given: Question, ask: Ask): Promise<DocsAnswer> {
  const { question, answer } = await findPage(given, ask)
  if (answer.text === undefined) return answer
  let { text, nextOffset } = answer
  while (nextOffset !== undefined) {
    const more: DocsAnswer = await ask({ ...question, offset: nextOffset })
    text += more.text ?? ''
    nextOffset = more.nextOffset
  }
  return { ...answer, text }
}

function answerText({ depth, entries, text = '' }: DocsAnswer, printer: Printer): string {
  if (depth === 'full') return escapeBlock(text)
  if (depth !== 'index') return entries.map(entry => summaryText(entry, printer)).join('\n')
  const { paint } = printer
  const rows = entries.map(({ path, kind, title, state, reason }) => {
    const style = state === 'disabled' ? paint.red : paint.green
    const notes = reason === undefined ? [] : [reason]
    return { cells: [path, kind, { text: state ?? '', style }, title], notes }
  })
  return renderTable(['Path', 'Kind', 'State', { wraps: 'Title' }], rows, printer)
}

function summaryText(entry: DocEntry, printer: Printer): string {
  const { path, kind, title, state, reason, summary, whenToUse, command, tools, tags } = entry
  const stated = state === undefined ? '' : `, ${state}`
  const facts = [
    summary,
    whenToUse && `When to use it: ${whenToUse}`,
    command && `Command: /${command}`,
    tools && `Tools: ${tools.join(', ')}`,
    tags && `Tags: ${tags.join(', ')}`,
    reason,
  ]
  const lines = facts.flatMap(fact => (fact === undefined || fact === '' ? [] : [paragraph(fact, printer, '  ')]))
  return `${printer.paint.bold(escapeLine(path))} ${escapeLine(`(${kind}${stated}): ${title}`)}\n${lines.join('')}`
}

async function checkDocs(session: Session, { strict }: { strict?: true }, words: readonly string[]): Promise<number> {
  // A question in plain words may begin with "check".
  if (words.length > 0)
    throw new UsageError(
      `"docs check" takes no words. To look for words that begin with "check", put them in quotes: quartermaster docs "${['check', ...words].join(' ')}"`,
    )
  const answer = await session.connect(control => session.attend('Looking', on => control.checkDocs({}, on)))
  const isBad = answer.problems.some(({ severity }) => strict || severity === 'error')
  return printAnswer(session, answer, { text: checkText(answer, session.out), code: isBad ? EXIT.no : EXIT.done })
}

function checkText({ units, problems }: ControlOutput<'checkDocs'>, printer: Printer): string {
  const amount = (level: 'error' | 'warning') => problems.filter(({ severity }) => severity === level).length
  const found =
    problems.length === 0 ? 'no problems' : `${count(amount('error'), 'error')}, ${count(amount('warning'), 'warning')}`
  return `${problemBlocks(problems, printer)}${printer.paint.bold(`${count(units, 'unit')} checked: ${found}.`)}\n`
}
