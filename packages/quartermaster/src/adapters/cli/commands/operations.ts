import { Option } from 'commander'
import { type OperationFacts, OperationState } from '../../../contracts/index.ts'
import { CompletingOption } from '../completion/kinds.ts'
import { resultText } from '../content.ts'
import { defined } from '../defined.ts'
import { detail } from '../error-details.ts'
import { EXIT } from '../errors.ts'
import { escapeLine, toJsonText } from '../escape.ts'
import { operationsText, operationText } from '../operation-text.ts'
import { cursorOption, limitOption, nextPage } from '../paging.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { shownHead } from '../shown-head.ts'
import { againWithin, organisationOption, type Within } from '../workspace-options.ts'
import { registerOperationDesk } from './operations-desk.ts'
import { registerVerify } from './operations-verify.ts'

export const registerOperations: Register = (program, act) => {
  const operations = program
    .command('operations')
    .description('Show calls that may have changed something, wait or were given up, and tasks; have them tried again.')
    .usage('list | show | retry | cancel | drop | verify [options]')
  registerList(operations, act)
  registerShow(operations, act)
  registerOperationDesk(operations, act)
  registerVerify(operations, act)
}

interface ListOptions extends Within {
  agent?: string
  state?: OperationState
  dead?: boolean
  limit?: number
  cursor?: string
}

const registerList: Register = (operations, act) => {
  const list = operations
    .command('list')
    .description('List operations, newest first.')
    .addOption(new CompletingOption('--agent <NAME>', 'only those of this agent', 'agent'))
    .addOption(new Option('--state <STATE>', 'only those in this state').choices(OperationState.options))
    .option('--dead', 'only those that were given up, or whose outcome nobody knows, and that can be tried again')
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(organisationOption())
    .action((options: ListOptions) => act(session => listOperations(session, options)))
  addExamples(list, [
    ['quartermaster operations list', 'the last fifty'],
    ['quartermaster operations list --agent default --state unknown', 'what one agent has to look after'],
    ['quartermaster operations list --dead', 'what can be tried again, or dropped'],
  ])
}

const registerShow: Register = (operations, act) => {
  const show = operations
    .command('show')
    .description('Show everything about one operation.')
    .argument('<ID>', 'the operation, by its id')
    .addOption(organisationOption())
    .action((id: string, within: Within) => act(session => showOperation(session, id, within)))
  addExamples(show, [['quartermaster operations show op_9fGk', 'how it ended, and why']])
}

async function listOperations(session: Session, { dead, ...options }: ListOptions): Promise<number> {
  const filter = defined({ ...options, ...(dead ? { canRetry: true as const } : {}) })
  const page = await session.connect(control =>
    session.attend('Looking', options => control.operations(filter, options)),
  )
  if (session.json) await session.printJson(page)
  else if (page.operations.length === 0) await session.notices.write('There are none.\n')
  else {
    await session.out.write(operationsText(page.operations, session))
    await session.notices.write(nextPage(page.nextCursor))
  }
  return EXIT.done
}

async function showOperation(session: Session, id: string, within: Within): Promise<number> {
  session.hints = { operation: id }
  const facts = await session.connect(control =>
    session.attend('Looking', options => control.operation(defined({ id, ...within }), options)),
  )
  if (session.json) await session.printJson(facts)
  else await printFacts(session, facts, within)
  return EXIT.done
}

async function printFacts({ out, notices }: Session, facts: OperationFacts, within: Within): Promise<void> {
  const given = givenIn(facts)
  const shown = given === undefined ? undefined : shownHead(given, out)
  await out.write(operationText(facts, shown?.text, out))
  if (shown?.cutAt === undefined) return
  const what = facts.result ? 'The result' : 'What it said'
  const which = escapeLine(`${facts.id}${againWithin(within.organisation)}`)
  await notices.write(
    `${what} is cut at ${shown.cutAt}. To see all of it: quartermaster operations show ${which} --json, or into a file or a pager.\n`,
  )
}

function givenIn({ result, error }: OperationFacts): string | undefined {
  if (result) return toJsonText(result, { pretty: false })
  const content = error ? detail(error, 'content') : []
  return content.length === 0 ? undefined : resultText({ content })
}
