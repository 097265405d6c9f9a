import { Option } from 'commander'
import {
  type Control,
  type ControlInput,
  type ControlOutput,
  DocDepth,
  type DocEntry,
  DocKind,
  type DocsAnswer,
} from '../../../../contracts/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { CompletingOption } from '../../completion/command-line.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { cursorOption, defined, nextPage, offsetOption, openLimitOption } from '../../options.ts'
import { escapeBlock, escapeLine } from '../../output/escape.ts'
import { count, paragraph, type Row, renderTable } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import { problemBlock } from '../../output/problem-text.ts'
import type { Session } from '../../session.ts'

type Question = ControlInput<'docs'>

export const registerDocs: Register = (program, act) => {
  const docs = program
    .command('docs')
    .description('Read what is written down: the knowledge of the project, and pages of every capability and tool.')
    .argument('[QUERY...]', 'what you want to know, in plain words, or the path of what you want to read')
    .option('--path <PATH>', 'exactly this: a unit, a tool, tool:NAME or capability:NAME')
    .option('--scope <PATH>', 'only what is at or below this')
    .addOption(new Option('--kind <KIND>', 'only these').choices(DocKind.options))
    .addOption(new Option('--depth <DEPTH>', 'how much of each').choices(DocDepth.options))
    .addOption(new CompletingOption('--agent <NAME>', 'what this agent reads', 'agent'))
    .addOption(openLimitOption())
    .addOption(cursorOption())
    .addOption(offsetOption())
    .action((words: string[], options: Omit<Question, 'query'>) =>
      act(session => read(session, defined({ ...options, query: words.join(' ') || undefined }))),
    )
  addExamples(docs, [
    ['quartermaster docs', 'all there is to read'],
    ['quartermaster docs how do we release', 'what fits best'],
    ['quartermaster docs read_file', 'the page of one tool'],
    ['quartermaster docs --scope guides --depth summary', 'what a folder of knowledge is about'],
  ])
  registerCheck(docs, act)
}

const registerCheck: Register = (docs, act) => {
  const check = docs
    .command('check')
    .description('Look for what is wrong with what is written down. Ends with 1 when there is an error.')
    .option('--strict', 'end with 1 on warnings too')
    .allowExcessArguments()
    .action((options: { strict?: true }, { args }: { args: readonly string[] }) =>
      act(session => {
        if (args.length > 0) throw new UsageError(notWords(args))
        return checkDocs(session, options)
      }),
    )
  addExamples(check, [['quartermaster docs check --strict', 'for a build: nothing may be wrong']])
}

/** A question in plain words may begin with the name of this command. */
function notWords(args: readonly string[]): string {
  const words = ['check', ...args].join(' ')
  return `"docs check" takes no words. To look for words that begin with "check", put them in quotes: quartermaster docs "${words}"`
}

async function read(session: Session, question: Question): Promise<number> {
  if (question.path !== undefined && question.query !== undefined)
    throw new UsageError('Give either words to look for or --path, not both.')
  if (question.cursor !== undefined && (question.path ?? question.query) !== undefined)
    throw new UsageError('--cursor goes on with a list; it cannot stand beside words to look for or --path.')
  session.hints = { agent: question.agent, listing: ['docs'] }
  const answer = await session.connectAsAgent(control =>
    session.attend('Looking', async on => {
      // A program pages by itself; a person reads to the end.
      const ask: Ask = input => control.docs(session.json ? input : { ...input, whole: true }, on)
      const asked = await opened(question, ask)
      return session.json ? asked.answer : whole(asked, ask)
    }),
  )
  if (session.json) await session.printJson(answer)
  else if (answer.entries.length === 0)
    await session.notices.write('Nothing fits. See all there is: quartermaster docs\n')
  else {
    await session.out.write(answerText(answer, session.out))
    await session.notices.write(nextPage(answer.nextCursor))
  }
  return EXIT.done
}

type Ask = (question: Question) => ReturnType<Control['docs']>

/** A question and its answer. */
interface Asked {
  readonly question: Question
  readonly answer: DocsAnswer
}

/** A name opens its page without --path. */
async function opened(question: Question, ask: Ask): Promise<Asked> {
  const { query, offset, ...rest } = question
  if (query === undefined || question.depth !== undefined) return { question, answer: await ask(question) }
  // Where to go on in a text is nothing to look for.
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

/** What did not come at once. */
async function whole({ question, answer }: Asked, ask: Ask): Promise<DocsAnswer> {
  const texts = [answer.text ?? '']
  let { nextOffset } = answer
  while (nextOffset !== undefined) {
    const more = await ask({ ...question, offset: nextOffset })
    texts.push(more.text ?? '')
    nextOffset = more.nextOffset
  }
  return answer.text === undefined ? answer : { ...answer, text: texts.join('') }
}

function answerText({ depth, entries, text = '' }: DocsAnswer, printer: Printer): string {
  if (depth === 'full') return escapeBlock(text)
  return depth === 'index' ? indexText(entries, printer) : entries.map(entry => summaryText(entry, printer)).join('\n')
}

function indexText(entries: readonly DocEntry[], printer: Printer): string {
  const columns = [{ title: 'Path' }, { title: 'Kind' }, { title: 'State' }, { title: 'Title', flexible: true }]
  return renderTable({ columns, rows: entries.map(entry => toRow(entry, printer)) }, printer)
}

function toRow({ path, kind, title, state, reason }: DocEntry, { paint }: Printer): Row {
  const style = state === 'disabled' ? paint.red : paint.green
  return { cells: [path, kind, { text: state ?? '', style }, title], notes: reason === undefined ? [] : [reason] }
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

async function checkDocs(session: Session, { strict }: { strict?: true }): Promise<number> {
  const answer = await session.connect(control => session.attend('Looking', on => control.checkDocs({}, on)))
  await (session.json ? session.printJson(answer) : session.out.write(checkText(answer, session.out)))
  const isBad = answer.problems.some(({ severity }) => strict || severity === 'error')
  return isBad ? EXIT.no : EXIT.done
}

function checkText({ units, problems }: ControlOutput<'checkDocs'>, printer: Printer): string {
  const amount = (level: 'error' | 'warning') => problems.filter(({ severity }) => severity === level).length
  const found =
    problems.length === 0 ? 'all is well' : `${count(amount('error'), 'error')}, ${count(amount('warning'), 'warning')}`
  const list = problems.map(problem => problemBlock(problem, printer)).join('')
  return `${list}${printer.paint.bold(`${count(units, 'unit')} looked at: ${found}.`)}\n`
}
