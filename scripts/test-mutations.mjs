// The small faults that can be put into a source file, each of which some test should notice.
import { parseSync } from 'rolldown/utils'

const SWAPPED = {
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===' },
  ...{ '+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '|': '&', '&': '|', '<<': '>>', '>>': '<<', '>>>': '<<' },
  ...{ '&&': '||', '||': '&&', '??': '&&' },
  ...{ '+=': '-=', '-=': '+=', '++': '--', '--': '++', '??=': '=' },
}
const SWAPPED_METHODS = {
  __proto__: null,
  min: 'max',
  max: 'min',
  some: 'every',
  every: 'some',
  floor: 'ceil',
  ceil: 'floor',
}
/** What is only said to people is not worth a test of every word. */
const MESSAGES = /Error$/

/** Each has the part of the source that it replaces, by `start` and `end`, and the new `text`. */
export function mutationsOf(file, source) {
  const found = []
  function replace({ start, end }, text, from = source.slice(start, end)) {
    found.push({ start, end, text, what: `${short(from)} → ${short(text) || 'nothing'}` })
  }

  function visit(node, parent) {
    if (Array.isArray(node)) {
      for (const each of node) visit(each, parent)
      return
    }
    if (node === null || typeof node !== 'object' || typeof node.type !== 'string') return
    if (/^(Import|ExportAll|TS(?!(As|Satisfies|NonNull)Expression))/.test(node.type)) return
    mutate[node.type]?.(node, parent)
    for (const [key, child] of Object.entries(node)) if (!isSkipped(node, key)) visit(child, node)
  }

  function isSkipped(node, key) {
    if (key === 'typeAnnotation' || key === 'typeArguments' || key === 'typeParameters' || key === 'returnType')
      return true
    if (node.type === 'ExportNamedDeclaration' && key === 'source') return true
    if (key === 'arguments') return MESSAGES.test(node.callee?.name ?? '')
    return key === 'key' && !node.computed
  }

  function swapOperator(node) {
    const to = SWAPPED[node.operator]
    if (to === undefined || (node.operator === '+' && [node.left, node.right].some(isText))) return
    const [from, until] = [node.left ?? node, node.right ?? node]
    const at = source.indexOf(node.operator, node.left === undefined ? node.start : from.end)
    if (at < 0 || (node.right !== undefined && at > until.start)) return
    // With && next to ??, as with a mix of && and ||, the meaning needs brackets.
    if (node.type !== 'LogicalExpression') return replace({ start: at, end: at + node.operator.length }, to)
    const [left, right] = [node.left, node.right].map(({ start, end }) => `(${source.slice(start, end)})`)
    found.push({
      start: node.start,
      end: node.end,
      text: `(${left} ${to} ${right})`,
      what: `${node.operator} → ${to} in ${short(source.slice(node.start, node.end))}`,
    })
  }

  function decide(test) {
    for (const value of ['true', 'false']) if (source.slice(test.start, test.end) !== value) replace(test, value)
  }

  const mutate = {
    BinaryExpression: swapOperator,
    LogicalExpression: swapOperator,
    AssignmentExpression: swapOperator,
    UpdateExpression: swapOperator,
    UnaryExpression(node) {
      if (node.operator === '!' || node.operator === '-')
        replace(node, source.slice(node.argument.start, node.argument.end))
    },
    Literal(node, parent) {
      if (typeof node.value === 'boolean') replace(node, String(!node.value))
      else if (typeof node.value === 'number')
        for (const each of new Set([node.value + 1, 0])) if (each !== node.value) replace(node, String(each))
      if (typeof node.value === 'string' && parent?.type !== 'ExpressionStatement')
        replace(node, node.value === '' ? "'mutated'" : "''")
    },
    IfStatement: ({ test }) => decide(test),
    ConditionalExpression: ({ test }) => decide(test),
    WhileStatement: ({ test }) => replace(test, 'false'),
    ExpressionStatement(node) {
      const { expression } = node
      if (expression.type === 'Literal' || expression.callee?.type === 'Super') return
      replace(node, ';')
    },
    ReturnStatement(node) {
      if (node.argument !== null && node.argument.name !== 'undefined') replace(node, 'return undefined')
    },
    ArrowFunctionExpression({ body }) {
      if (body.type !== 'BlockStatement' && !isBare(body)) replace(body, '(undefined)')
    },
    ArrayExpression(node) {
      if (node.elements.length > 0) replace(node, '[]')
    },
    CallExpression({ callee }) {
      const to =
        callee.type === 'MemberExpression' && !callee.computed ? SWAPPED_METHODS[callee.property.name] : undefined
      if (to !== undefined) replace(callee.property, to)
    },
  }

  visit(parseSync(file, source).program, undefined)
  const lineOf = lines(source)
  return found.map((mutation) => ({ file, line: lineOf(mutation.start), ...mutation }))
}

const isText = (node) => node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string')
/** An object as the body of an arrow function has brackets that are no part of it. */
const isBare = ({ type }) => type === 'ObjectExpression' || type === 'Literal'
const short = (text) => text.replace(/\s+/g, ' ').slice(0, 60)

function lines(source) {
  const starts = [0]
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => starts.findLastIndex((start) => start <= offset) + 1
}
