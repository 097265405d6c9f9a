import { AppError, issueText } from '../../../contracts/index.ts'
import type { Tool, Validated } from '../../catalogue/index.ts'
import { inputObject } from '../../kernel/index.ts'

/** Checks the arguments completely and gives what the handler gets. */
export function checkInput(tool: Tool, input: unknown): unknown {
  const checked = tool.validateInput(inputObject(tool.name, input))
  return checked instanceof Promise ? checked.then(result => inputOf(tool, result)) : inputOf(tool, checked)
}

function inputOf(tool: Tool, checked: Validated): unknown {
  if (checked.ok) return checked.value
  const lines = checked.issues.map(issueText)
  throw new AppError('INPUT_INVALID', `The arguments of "${tool.name}" are wrong. ${lines.join(' ')}`, {
    details: { issues: checked.issues },
  })
}
