import { z } from 'zod'
import { type CallContext, defineTool } from '../../core/catalogue/index.ts'
import { Refusal } from '../shared/walls/refusal.ts'
import type { NotesConfig } from './config.ts'
import { editTask, withStatus } from './tasks.ts'
import { answerWith, dayOf, ROUTE_OUTPUT, TaskReference } from './tool-io.ts'
import type { Vault, Vaults } from './vault.ts'

const Input = z.strictObject({
  task: TaskReference,
})

const Output = z.object({
  title: z.string(),
  line: z.number().int().describe('Its line in the list.'),
  changed: z.boolean().describe('Whether it was not done before.'),
  ...ROUTE_OUTPUT,
})

/** The tool that marks a task as done. */
export function createTaskComplete(vaults: Vaults, now: () => Date) {
  return defineTool({
    name: 'task_complete',
    title: 'Complete a task',
    short: 'Marks a task in the list of tasks as done, with the day.',
    whenToUse:
      'When something on the list is done. Answers which line it was, and whether it was done before already. ' +
      'It does not remove the task or its note, and leaves tasks that come again to Obsidian.',
    section: 'notes',
    command: { name: 'task-complete' },
    input: Input,
    output: Output,
    examples: [{ query: 'I bought the milk', input: { task: 'Buy milk' } }],
    mutates: true,
    mcp: { annotations: { destructiveHint: false } },
    idempotent: true,
    retry: 'replay',
    consent: ['notes.write'],
    handler: (input, context: CallContext<NotesConfig>) =>
      answerWith({
        vaults,
        context,
        about: input.task,
        work: vault => complete(vault, { wanted: input.task, config: context.config, today: dayOf(now()) }),
      }),
  })
}

async function complete(vault: Vault, options: { wanted: string; config: NotesConfig; today: string }) {
  const { wanted, config, today } = options
  const { task, changed } = await editTask(vault, {
    wanted,
    config,
    change(line, { status, recurs, title }) {
      if (status === 'done') return line
      if (recurs)
        throw new Refusal(
          `"${title}" comes again when it is done, and only Obsidian makes the next one. Complete it there.`,
        )
      return withStatus(line, 'done', today)
    },
  })
  const data = { title: task.title, line: task.index + 1, changed }
  return { text: changed ? `"${task.title}" is done.` : `"${task.title}" was done already.`, data }
}
