import { issueText, type Problem } from '../../contracts/index.ts'
import type { Generation, Tool } from './generation.ts'

/**
 * Examples that their own tool would refuse. Not part of loading, because it compiles every schema that has examples;
 * a wrong example misleads, but it breaks nothing.
 */
export async function checkExamples(generation: Generation): Promise<Problem[]> {
  const problems: Problem[] = []
  for (const tool of generation.tools.values()) problems.push(...(await wrongExamples(tool)))
  return problems
}

async function wrongExamples(tool: Tool): Promise<Problem[]> {
  const found = await Promise.all(
    tool.examples.map(async (example, index) => {
      const checked = await tool.validateInput(example.input)
      return checked.ok ? [] : checked.issues.map(issue => wrongExample(tool, index, issueText(issue)))
    }),
  )
  return found.flat()
}

function wrongExample(tool: Tool, index: number, what: string): Problem {
  return {
    severity: 'warning',
    code: 'DEFINITION_INVALID',
    where: tool.unit,
    subject: `tool:${tool.name}`,
    field: `examples.${index}.input`,
    message: `Tool "${tool.name}": its own schema refuses example ${index + 1} ("${tool.examples[index]?.query}"): ${what}`,
    mend: 'Correct the example.',
  }
}
