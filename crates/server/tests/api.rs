//! The API over a real socket.

mod served;

use retreever_server::{Error, Guard, Listener, Token};
use serde_json::Value;
use served::{FOLDED_NODE, HOSTILE, HOSTILE_NODE, Served};
use std::io::{Read, Write};
use std::net::TcpStream;

/// Status, headers and body of a GET.
fn get(served: &Served, path: &str, headers: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(served.address).unwrap();
    let host =
        if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", served.address) };
    write!(stream, "GET {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), head.to_lowercase(), body.to_owned())
}

fn json(served: &Served, path: &str) -> Value {
    let (status, _, body) = get(served, path, "");
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

#[test]
fn every_call_answers() {
    let served = Served::start(Guard::ThisMachine);
    let tree = json(&served, "/api/tree");
    assert_eq!((tree["depth"].as_u64(), tree["documents"].as_u64()), (Some(3), Some(96)));
    assert_eq!(tree["nodes"].as_array().unwrap().len(), 15);
    assert_eq!(tree["fields"][0]["name"], "kind");
    assert_eq!((&tree["can_route"], &tree["calibrated"]), (&Value::Bool(true), &Value::Bool(true)));
    assert_eq!(
        (&tree["nodes"][0]["folded"], &tree["nodes"][FOLDED_NODE]["folded"]),
        (&false.into(), &true.into())
    );

    let node = json(&served, "/api/node/1");
    assert_eq!(node["path"].as_array().unwrap().len(), 2);
    assert_eq!(node["branches"].as_array().unwrap().len(), 2);
    assert!(
        node["keywords"]
            .as_array()
            .unwrap()
            .iter()
            .any(|word| word["text"].as_str().unwrap().contains("life"))
    );
    assert!(json(&served, "/api/node/7")["branches"].as_array().unwrap().is_empty());

    let page = json(&served, "/api/documents?node=1&page=1&size=5");
    assert_eq!((page["total"].as_u64(), page["documents"].as_array().unwrap().len()), (Some(48), 5));
    assert!(json(&served, "/api/documents?id=d3")["text"].as_str().unwrap().contains("<script>"));

    let route = json(&served, "/api/route?q=flood%20damage");
    let reach: Vec<f64> =
        route["reach"].as_array().unwrap().iter().map(|chance| chance.as_f64().unwrap()).collect();
    assert_eq!((route["leaf"].as_u64(), reach.len()), (Some(11), 15));
    // Read twice as sure as it was given: the weights are 2.05 of flood damage, 1.05 of fire damage, and 0.05 elsewhere.
    assert!(reach[2] > 0.97 && (reach[11] / reach[12] - (2.05f64 / 1.05).powi(2)).abs() < 0.01, "{reach:?}");
    let steps = route["way"]["steps"].as_array().unwrap();
    assert_eq!(steps.last().unwrap()["node"], 11);
    for step in steps {
        let (node, chance) = (step["node"].as_u64().unwrap() as usize, step["chance"].as_f64().unwrap());
        assert!(
            (chance - reach[node]).abs() < 1e-5 && step["label"] == tree["nodes"][node]["label"],
            "{step}"
        );
    }

    let found = json(&served, "/api/search?q=flood%20damage&k=3");
    assert_eq!((found["share_read"].as_f64(), found["cover"].as_f64()), (Some(1.0), Some(1.0)));
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 3);
    let sum = |list: &Value, name: &str| -> f64 {
        list.as_array().unwrap().iter().map(|part| part[name].as_f64().unwrap()).sum()
    };
    for hit in hits {
        assert_eq!(hit["place"], 11);
        let why = &hit["explanation"];
        let number = |value: &Value| value.as_f64().unwrap();
        let account = &why["account"];
        let all =
            number(&account["average"]) + sum(&account["subjects"], "adds") + number(&account["others"]);
        assert!((all - number(&hit["score"])).abs() < 1e-5, "{hit}");
        let common = &why["common"];
        let all = sum(&common["nodes"], "common") + number(&common["others"]);
        assert!((all - number(&common["share"])).abs() < 1e-9, "{hit}");
    }
    // Names that were given to nodes are used in explanations, too.
    let named = json(&served, "/api/route?q=auto%20liability%20claim%20driver");
    let steps = named["way"]["steps"].as_array().unwrap();
    assert_eq!(steps.last().unwrap()["node"], HOSTILE_NODE);
    assert!(steps.last().unwrap()["label"].as_str().unwrap().starts_with("Named"));

    let covered = json(&served, "/api/search?q=flood%20damage&k=3&cover=0.9");
    assert!(covered["share_read"].as_f64().unwrap() < 0.5 && covered["cover"].as_f64().unwrap() >= 0.9);
    assert_eq!(covered["hits"][0]["id"], found["hits"][0]["id"]);
    assert_eq!(json(&served, "/api/search?document=d3&level=1")["level"], 1);
    assert_eq!(json(&served, "/api")["openapi"], "3.1.0");
}

/// Whether `value` has what the schema requires and nothing of another type.
fn fits(value: &Value, schema: &Value, all: &Value) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        return fits(value, &all[name.rsplit('/').next().unwrap()], all);
    }
    if let Some(parts) = schema["allOf"].as_array() {
        return parts.iter().try_for_each(|part| fits(value, part, all));
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let fitting = choices.iter().filter(|choice| fits(value, choice, all).is_ok()).count();
        return if fitting == 1 { Ok(()) } else { Err(format!("{fitting} choices fit {value}")) };
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let is = |name: &&str| match *name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the schema has a type {other}"),
    };
    if !types.iter().any(is) {
        return Err(format!("{value} is none of {types:?}"));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        value.get(name).ok_or_else(|| format!("{name} is missing"))?;
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(field) = value.get(name) {
            fits(field, schema, all).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    match schema.get("items") {
        Some(each) => value.as_array().into_iter().flatten().try_for_each(|item| fits(item, each, all)),
        None => Ok(()),
    }
}

#[test]
fn answers_are_as_the_description_says() {
    let served = Served::start(Guard::ThisMachine);
    let described = json(&served, "/api");
    let all = &described["components"]["schemas"];
    for (path, call) in [
        ("/api/tree", "/api/tree"),
        ("/api/node/0", "/api/node/{id}"),
        ("/api/node/7", "/api/node/{id}"),
        ("/api/documents?node=1&size=3", "/api/documents"),
        ("/api/documents?id=d3", "/api/documents"),
        ("/api/route?q=flood", "/api/route"),
        ("/api/search?q=flood", "/api/search"),
        ("/api/search?document=d3&level=2&k=5", "/api/search"),
        ("/api/search?q=flood&cover=0.8", "/api/search"),
    ] {
        let schema =
            &described["paths"][call]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        fits(&json(&served, path), schema, all).unwrap_or_else(|why| panic!("{path}: {why}"));
    }
    let (status, _, body) = get(&served, "/api/node/99", "");
    assert_eq!(status, 404);
    fits(&serde_json::from_str(&body).unwrap(), &all["Error"], all).unwrap();
}

#[test]
fn what_is_out_of_bounds_is_refused() {
    let served = Served::start(Guard::ThisMachine);
    let long = format!("/api/route?q={}", "a".repeat(9000));
    for (path, status) in [
        ("/api/node/15", 404),
        ("/api/node/x", 400),
        ("/api/documents?id=nobody", 404),
        ("/api/search?q=life&k=101", 400),
        ("/api/search?q=life&k=0", 400),
        ("/api/search?q=life&cover=0", 400),
        ("/api/search?q=life&cover=1.5", 400),
        ("/api/search?q=life&level=4", 400),
        ("/api/search?q=%20", 400),
        ("/api/search", 400),
        ("/api/nothing", 404),
        ("/../Cargo.toml", 404),
        (long.as_str(), 400),
    ] {
        let (received, _, body) = get(&served, path, "");
        assert_eq!(received, status, "{path}: {body}");
    }
    assert_eq!(get(&served, "/api/tree", "Host: elsewhere.example\r\n").0, 403);
}

#[test]
fn other_machines_need_a_token() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let open = runtime.block_on(Listener::bind("0.0.0.0:0".parse().unwrap(), Guard::ThisMachine));
    assert!(matches!(open, Err(Error::TokenNeeded(_))));
    let served = Served::start(Guard::Token(Token::new("open-sesame").unwrap()));
    assert_eq!(get(&served, "/api/tree", "").0, 401);
    assert_eq!(get(&served, "/api/tree", "Authorization: Bearer open-sesamo\r\n").0, 401);
    assert_eq!(get(&served, "/api/tree", "Authorization: Bearer open-sesame\r\n").0, 200);
    assert_eq!(get(&served, "/", "").0, 200);
}

#[test]
fn text_of_the_corpus_is_never_markup() {
    let served = Served::start(Guard::ThisMachine);
    let (_, head, page) = get(&served, "/", "");
    assert!(head.contains("content-security-policy: default-src 'none'; script-src 'self'"), "{head}");
    assert!(head.contains("x-content-type-options: nosniff"));
    assert!(!page.contains("example"));
    for file in ["/main.js", "/drawing.js", "/style.css"] {
        assert_eq!(get(&served, file, "").0, 200, "{file}");
    }
    let (_, head, body) = get(&served, "/api/documents?id=d3", "");
    assert!(head.contains("content-type: application/json") && body.contains("<script>"));
    let (_, _, export) = get(&served, "/api/export.html", "");
    assert!(!export.contains(HOSTILE) && export.contains("\\u003cscript>"));
    assert_eq!(export.matches("<script").count(), 2);
    assert!(!export.contains("\nimport ") && !export.contains("src=\"main.js\""));
}
