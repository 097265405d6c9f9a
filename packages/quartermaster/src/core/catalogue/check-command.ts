import type { CommandDecision, JsonSchema } from '../../contracts/index.ts'
import { commandParameters, didYouMean } from '../kernel/index.ts'
import type { ProblemList } from './problem-list.ts'

/** Whether the arguments that a command names are parameters, and can be written without their names. */
export function checkCommand(
  command: CommandDecision,
  { subject, input, problems }: { subject: string; input: JsonSchema; problems: ProblemList },
): void {
  if ('none' in command || command.arguments === undefined) return
  const parameters = new Map(commandParameters(input).map(parameter => [parameter.key, parameter]))
  const add = (message: string) => problems.add(subject, 'command.arguments', message)
  let optional: string | undefined
  for (const [i, key] of command.arguments.entries()) {
    const parameter = parameters.get(key)
    if (!parameter) add(`name "${key}", which is no parameter.${didYouMean(key, parameters.keys())}`)
    else if (!['text', 'number', 'choice'].includes(parameter.kind))
      add(`name "${key}", which is no text, number or choice, and so is written with its name`)
    else if (command.arguments.indexOf(key) !== i) add(`name "${key}" twice`)
    else if (!parameter.isRequired) optional = key
    else if (optional !== undefined) add(`have "${key}", which is required, behind "${optional}", which is not`)
  }
}
