import { type Argument, type Command, Help, type Option } from 'commander'
import { escapeLine, escapeProse } from './escape.ts'
import { wrap } from './width.ts'

const USUAL_WIDTH = 80
const INDENT = '  '

/**
 * The help of a tool's command: names, choices and words are the server's, and are shown as escapes where they could steer a
 * terminal or cannot be seen. What is compared with what somebody writes stays as it is.
 */
export class ToolHelp extends Help {
  override commandUsage(command: Command): string {
    return escapeLine(super.commandUsage(command))
  }

  override commandDescription(command: Command): string {
    const lines = wrap(escapeProse(super.commandDescription(command)), (this.helpWidth ?? USUAL_WIDTH) - INDENT.length)
    // So that no line of a stranger stands where ours begin.
    return lines.map(line => (line === '' ? '' : INDENT + line)).join('\n')
  }

  override argumentTerm(argument: Argument): string {
    return escapeLine(super.argumentTerm(argument))
  }

  override argumentDescription(argument: Argument): string {
    return escapeLine(super.argumentDescription(argument))
  }

  override optionTerm(option: Option): string {
    return escapeLine(super.optionTerm(option))
  }

  override optionDescription(option: Option): string {
    return escapeLine(super.optionDescription(option))
  }
}
